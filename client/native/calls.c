/* `Calls`: requests that come again and again with other numbers, from the arguments of a client's
 * method to its result, in one call.
 *
 * client/known_calls.py tells what such a call looks like: its arguments, the bytes of its request
 * and of its reply. A call that looks otherwise, and a reply that does, are left to Python, which
 * asks once more: all of these compute something and change nothing. What the reply's numbers go
 * into is made before they are there; arrays that nobody has any more are filled again (steps.c
 * says why).
 */
#include "native.h"

enum { MOST_KNOWN = 64, MOST_ARRAYS = 16, ID_BYTES = 4, SIZE = 8 };
/* Sets of arrays that are kept: of the newest result, of the one before, and one to fill. */
enum { KEPT = 3 };

struct text {
    Py_ssize_t start, size;
    const char *bytes;
};

struct known {
    PyObject *make;           /* the function that makes the request */
    PyObject *names, *values; /* of keywords; arguments by position, then these */
    Py_ssize_t by_position;
    struct place *places;      /* of each value; offset -1: it is compared */
    PyObject *texts_kept;      /* what `texts` points into */
    struct text *texts;        /* of a reply: what is the same each time */
    Py_ssize_t text_count;
    PyObject *fields[MOST_ARRAYS], *shapes[MOST_ARRAYS]; /* of a reply's arrays */
    struct place arrays[MOST_ARRAYS];
    Py_ssize_t array_count;
    Py_ssize_t request_size, reply_size;
    PyObject *kept[KEPT][MOST_ARRAYS]; /* arrays; the bytes that they are of are theirs */
    PyObject *data[KEPT][MOST_ARRAYS];
    PyObject *result; /* what makes a result of the fields */
    int is_plain;     /* a class whose objects have them as attributes, and nothing else */
    char request[];
};

typedef struct {
    PyObject_HEAD
    PyObject *identities, *maker, *number, *zero;
    unsigned long first_id, end_of_ids;
    Py_ssize_t id;             /* byte, in requests and replies */
    PageObject *page;          /* where requests go, or: */
    PyObject *send, *receive, *again; /* of a socket, and the error when its time is up */
    double timeout;            /* s; of a page until Python asks once more, of a socket its own */
    int busy;
    int count;
    struct known *known[MOST_KNOWN];
} CallsObject;

/* A reply under way: arrays that its numbers go into, by name, and where their numbers are. */
struct reply {
    PyObject *fields;
    char *numbers[MOST_ARRAYS];
};

static void forget(struct known *known)
{
    Py_XDECREF(known->make), Py_XDECREF(known->names), Py_XDECREF(known->values);
    Py_XDECREF(known->texts_kept), Py_XDECREF(known->result);
    for (Py_ssize_t k = 0; k < MOST_ARRAYS; ++k) {
        Py_XDECREF(known->fields[k]), Py_XDECREF(known->shapes[k]);
        for (int i = 0; i < KEPT; ++i) Py_XDECREF(known->kept[i][k]);
    }
    PyMem_Free(known->places);
    PyMem_Free(known->texts);
    PyMem_Free(known);
}

static int calls_init(CallsObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"identities", "first_id", "end_of_ids", "id", "array", "number", NULL};
    PyObject *identities, *maker, *number;
    if (self->identities != NULL) {
        PyErr_SetString(PyExc_TypeError, "calls are made once");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(args, named, "OkknOO", names, &identities, &self->first_id,
                                     &self->end_of_ids, &self->id, &maker, &number))
        return -1;
    self->zero = PyLong_FromLong(0);
    if (self->zero == NULL) return -1;
    self->identities = Py_NewRef(identities);
    self->maker = Py_NewRef(maker), self->number = Py_NewRef(number);
    return 0;
}

static PyObject *calls_leave(CallsObject *self, PyObject *unused)
{
    Py_CLEAR(self->page);
    Py_CLEAR(self->send);
    Py_CLEAR(self->receive);
    Py_CLEAR(self->again);
    Py_RETURN_NONE;
}

static int calls_traverse(CallsObject *self, visitproc visit, void *arg)
{
    Py_VISIT(self->identities);
    Py_VISIT(self->send);
    Py_VISIT(self->receive);
    for (int k = 0; k < self->count; ++k) {
        Py_VISIT(self->known[k]->make);
        Py_VISIT(self->known[k]->result);
    }
    return 0;
}

static int calls_clear(CallsObject *self)
{
    while (self->count > 0) forget(self->known[--self->count]);
    Py_CLEAR(self->identities);
    Py_DECREF(calls_leave(self, NULL));
    return 0;
}

static void calls_dealloc(CallsObject *self)
{
    PyObject_GC_UnTrack(self);
    calls_clear(self);
    Py_XDECREF(self->maker), Py_XDECREF(self->number), Py_XDECREF(self->zero);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *calls_use_page(CallsObject *self, PyObject *args)
{
    PyObject *page;
    double longest;
    if (!PyArg_ParseTuple(args, "O!d", &PageType, &page, &longest)) return NULL;
    Py_DECREF(calls_leave(self, NULL));
    self->page = (PageObject *)Py_NewRef(page);
    self->timeout = longest;
    Py_RETURN_NONE;
}

static PyObject *calls_use_socket(CallsObject *self, PyObject *args)
{
    PyObject *send, *receive, *again;
    double timeout;
    if (!PyArg_ParseTuple(args, "OOOd", &send, &receive, &again, &timeout)) return NULL;
    Py_DECREF(calls_leave(self, NULL));
    self->send = Py_NewRef(send), self->receive = Py_NewRef(receive);
    self->again = Py_NewRef(again);
    self->timeout = timeout;
    Py_RETURN_NONE;
}

static int learn_values(struct known *known, PyObject *offsets)
{
    const Py_ssize_t count = PyTuple_GET_SIZE(known->values);
    known->places = PyMem_Calloc((size_t)count + 1, sizeof(struct place));
    if (known->places == NULL || PyTuple_GET_SIZE(offsets) != count ||
        PyTuple_GET_SIZE(known->names) + known->by_position != count)
        return -1;
    for (Py_ssize_t k = 0; k < count; ++k) {
        PyObject *offset = PyTuple_GET_ITEM(offsets, k);
        if (offset == Py_None)
            known->places[k].offset = -1;
        else if (place_of(offset, known->request_size, &known->places[k]) < 0)
            return -1;
    }
    return 0;
}

static int learn_texts(struct known *known)
{
    known->text_count = PyTuple_GET_SIZE(known->texts_kept);
    known->texts = PyMem_Calloc((size_t)known->text_count + 1, sizeof(struct text));
    if (known->texts == NULL) return -1;
    for (Py_ssize_t k = 0; k < known->text_count; ++k) {
        struct text *text = &known->texts[k];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(known->texts_kept, k), "ny#", &text->start,
                              &text->bytes, &text->size))
            return -1;
        if (text->start < 0 || text->size > known->reply_size - text->start) return -1;
    }
    return 0;
}

static int learn_arrays(struct known *known, PyObject *arrays)
{
    known->array_count = PyTuple_GET_SIZE(arrays);
    if (known->array_count > MOST_ARRAYS) return -1;
    for (Py_ssize_t k = 0; k < known->array_count; ++k) {
        PyObject *name, *described;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(arrays, k), "OO!", &name, &PyTuple_Type, &described))
            return -1;
        if (place_of(described, known->reply_size, &known->arrays[k]) < 0) return -1;
        known->fields[k] = Py_NewRef(name);
        known->shapes[k] = Py_NewRef(PyTuple_GET_ITEM(described, 1));
    }
    return 0;
}

static PyObject *calls_learn(CallsObject *self, PyObject *args, PyObject *named)
{
    static char *keys[] = {"make",  "by_position", "names",  "values", "offsets",  "request",
                           "reply_size", "texts", "arrays", "result", "is_plain", NULL};
    PyObject *make, *names, *values, *offsets, *texts, *arrays, *result;
    Py_ssize_t by_position, reply_size;
    int is_plain;
    Py_buffer request;
    if (!PyArg_ParseTupleAndKeywords(args, named, "OnO!O!O!y*nO!O!Op", keys, &make, &by_position,
                                     &PyTuple_Type, &names, &PyTuple_Type, &values, &PyTuple_Type,
                                     &offsets, &request, &reply_size, &PyTuple_Type, &texts,
                                     &PyTuple_Type, &arrays, &result, &is_plain))
        return NULL;
    struct known *known = NULL;
    if (self->id + ID_BYTES <= request.len && self->id + ID_BYTES <= reply_size)
        known = PyMem_Calloc(1, sizeof(struct known) + (size_t)request.len);
    if (known != NULL) {
        memcpy(known->request, request.buf, (size_t)request.len);
        known->request_size = request.len, known->reply_size = reply_size;
    }
    PyBuffer_Release(&request);
    if (known == NULL) {
        PyErr_SetString(PyExc_ValueError, "this request, or its reply, has no room for an id");
        return NULL;
    }
    known->make = Py_NewRef(make), known->names = Py_NewRef(names);
    known->values = Py_NewRef(values), known->texts_kept = Py_NewRef(texts);
    known->result = Py_NewRef(result);
    known->by_position = by_position, known->is_plain = is_plain && PyType_Check(result);
    if (learn_values(known, offsets) < 0 || learn_texts(known) < 0 ||
        learn_arrays(known, arrays) < 0) {
        forget(known);
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "this call cannot be known");
        return NULL;
    }
    if (self->count == MOST_KNOWN && self->busy == 0) /* then it begins anew */
        while (self->count > 0) forget(self->known[--self->count]);
    if (self->count < MOST_KNOWN)
        self->known[self->count++] = known;
    else
        forget(known);
    Py_RETURN_NONE;
}

/* Whether an argument is what it was: a text, a list of texts, or nothing. */
static bool is_same(PyObject *known, PyObject *given)
{
    if (known == given) return true;
    if (Py_TYPE(known) != Py_TYPE(given)) return false;
    const int same = PyObject_RichCompareBool(known, given, Py_EQ);
    if (same < 0) PyErr_Clear();
    return same == 1;
}

/* Put the arguments into the request of a call; false where it is another one. */
static bool fill_request(struct known *known, PyObject *args, PyObject *named)
{
    if (PyTuple_GET_SIZE(args) != known->by_position ||
        PyDict_GET_SIZE(named) != PyTuple_GET_SIZE(known->names))
        return false;
    const Py_ssize_t count = PyTuple_GET_SIZE(known->values);
    for (Py_ssize_t k = 0; k < count; ++k) {
        PyObject *given = k < known->by_position
                              ? PyTuple_GET_ITEM(args, k)
                              : PyDict_GetItem(named, PyTuple_GET_ITEM(known->names,
                                                                       k - known->by_position));
        if (given == NULL) return false;
        if (known->places[k].offset < 0 ? !is_same(PyTuple_GET_ITEM(known->values, k), given)
                                        : !put_numbers(given, &known->places[k], known->request))
            return false;
    }
    return true;
}

/* Give the request an id that no other has had; false where ids have become too long. */
static bool put_identity(CallsObject *self, char *request, uint32_t *identity)
{
    PyObject *next = PyIter_Next(self->identities);
    if (next == NULL) return false;
    const unsigned long id = PyLong_AsUnsignedLong(next);
    Py_DECREF(next);
    if (PyErr_Occurred() || id < self->first_id || id >= self->end_of_ids) {
        PyErr_Clear();
        return false;
    }
    *identity = (uint32_t)id;
    for (int k = 0; k < ID_BYTES; ++k)
        request[self->id + k] = (char)(id >> (8 * (ID_BYTES - 1 - k)));
    return true;
}

/* Whether nobody but us has any array of a set, or the bytes that it is of. */
static bool is_ours_alone(const struct known *known, int set)
{
    for (Py_ssize_t k = 0; k < known->array_count; ++k)
        if (known->kept[set][k] == NULL || Py_REFCNT(known->kept[set][k]) != 1 ||
            Py_REFCNT(known->data[set][k]) != 1 ||
            !is_still_at(known->kept[set][k], &known->arrays[k],
                         PyBytes_AS_STRING(known->data[set][k])))
            return false;
    return true;
}

/* A set of arrays to be filled: one that nobody has any more, or a new one; -1 with an error. */
static int empty_arrays(CallsObject *self, struct known *known)
{
    int set = 0;
    for (int k = 0; k < KEPT; ++k) {
        if (is_ours_alone(known, k)) return k;
        if (known->kept[k][0] == NULL) set = k;
    }
    for (Py_ssize_t k = 0; k < known->array_count; ++k) {
        PyObject *data = PyBytes_FromStringAndSize(NULL, known->arrays[k].bytes);
        if (data == NULL) return -1;
        PyObject *array = array_in(self->maker, self->number, data, known->shapes[k], self->zero);
        Py_DECREF(data); /* the array has it */
        if (array == NULL) return -1;
        known->data[set][k] = data;
        Py_XSETREF(known->kept[set][k], array);
    }
    return set;
}

/* Arrays for what is to come. */
static int prepare_reply(CallsObject *self, struct known *known, struct reply *reply)
{
    const int set = empty_arrays(self, known);
    reply->fields = set < 0 ? NULL : PyDict_New();
    if (reply->fields == NULL) return -1;
    for (Py_ssize_t k = 0; k < known->array_count; ++k) {
        reply->numbers[k] = PyBytes_AS_STRING(known->data[set][k]);
        if (PyDict_SetItem(reply->fields, known->fields[k], known->kept[set][k]) < 0) return -1;
    }
    return 0;
}

/* What the client's method gives. */
static PyObject *result_of(const struct known *known, PyObject *fields)
{
    if (!known->is_plain) return PyObject_CallOneArg(known->result, fields);
    PyTypeObject *kind = (PyTypeObject *)known->result;
    PyObject *result = kind->tp_alloc(kind, 0);
    if (result != NULL && PyObject_GenericSetDict(result, fields, NULL) < 0) Py_CLEAR(result);
    return result;
}

/* Take the numbers of a reply; false where it is another one. */
static bool take_reply(const CallsObject *self, const struct known *known, const char *data,
                       uint64_t size, uint32_t identity, struct reply *reply)
{
    if (size != (uint64_t)known->reply_size) return false;
    uint32_t found = 0;
    for (int k = 0; k < ID_BYTES; ++k) found = found << 8 | (unsigned char)data[self->id + k];
    if (found != identity) return false;
    for (Py_ssize_t k = 0; k < known->text_count; ++k)
        if (memcmp(data + known->texts[k].start, known->texts[k].bytes,
                   (size_t)known->texts[k].size) != 0)
            return false;
    for (Py_ssize_t k = 0; k < known->array_count; ++k)
        memcpy(reply->numbers[k], data + known->arrays[k].offset, (size_t)known->arrays[k].bytes);
    return true;
}

/* 1 where the reply has come, 0 where it has to be asked for in Python, -1 with an error. */
static int ask_page(CallsObject *self, PageObject *holder, struct known *known,
                    uint32_t identity, struct reply *reply)
{
    struct page *page = &holder->page;
    const uint64_t size = (uint64_t)known->request_size;
    if (holder->closed || SIZE + size > page->state_bytes) return 0;
    if (enter_page(holder) < 0) return -1;
    char *place = begin_state(page);
    memcpy(place, &size, SIZE);
    memcpy(place + SIZE, known->request, size);
    end_state(page, place);
    int result = prepare_reply(self, known, reply);
    const int64_t deadline = now() + nanoseconds(self->timeout);
    while (result == 0) {
        uint32_t count;
        const char *frame = newest_output(page, page->taken, &count);
        if (frame != NULL) {
            uint64_t bytes;
            memcpy(&bytes, frame, SIZE);
            if (bytes > page->output_bytes - SIZE) bytes = 0;
            const bool good = take_reply(self, known, frame + SIZE, bytes, identity, reply);
            if (!is_still_whole(page, frame, count)) continue;
            page->taken = count;
            result = good;
            break;
        }
        const int64_t left = deadline - now();
        if (left <= 0) break;
        if (pause_for_output(holder, left) < 0) result = -1;
    }
    leave_page(holder);
    return result;
}

/* The same over a socket; 2 where its time is up. */
static int ask_socket(CallsObject *self, struct known *known, uint32_t identity,
                      struct reply *reply)
{
    PyObject *receive = Py_NewRef(self->receive), *again = Py_NewRef(self->again), *data = NULL;
    PyObject *request = PyBytes_FromStringAndSize(known->request, known->request_size);
    PyObject *sent = request == NULL ? NULL : PyObject_CallOneArg(self->send, request);
    int result = sent == NULL ? -1 : prepare_reply(self, known, reply);
    if (result == 0) {
        data = PyObject_CallNoArgs(receive);
        if (data == NULL) {
            result = PyErr_ExceptionMatches(again) ? 2 : -1;
            if (result == 2) PyErr_Clear();
        } else if (PyBytes_Check(data)) {
            result = take_reply(self, known, PyBytes_AS_STRING(data),
                                (uint64_t)PyBytes_GET_SIZE(data), identity, reply);
        }
    }
    Py_XDECREF(data), Py_XDECREF(sent), Py_XDECREF(request);
    Py_DECREF(again), Py_DECREF(receive);
    return result;
}

static PyObject *calls_ask(CallsObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 4 || !PyTuple_Check(args[1]) || !PyDict_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "ask(make, args, named, timeout)");
        return NULL;
    }
    const double timeout = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred()) return NULL;
    const bool is_reachable = self->page != NULL || (self->send != NULL && timeout == self->timeout);
    struct known *known = NULL;
    uint32_t identity = 0;
    for (int k = 0; is_reachable && k < self->count && known == NULL; ++k)
        if (self->known[k]->make == args[0] && fill_request(self->known[k], args[1], args[2]))
            known = self->known[k];
    if (known == NULL || !put_identity(self, known->request, &identity)) {
        if (PyErr_Occurred()) return NULL;
        Py_RETURN_NONE;
    }
    struct reply reply = {NULL};
    PyObject *page = Py_XNewRef(self->page);
    ++self->busy;
    int result = page != NULL ? ask_page(self, (PageObject *)page, known, identity, &reply)
                              : ask_socket(self, known, identity, &reply);
    PyObject *given = NULL;
    if (result == 1)
        given = result_of(known, reply.fields);
    else if (result >= 0)
        given = Py_NewRef(result == 0 ? Py_None : Py_False);
    --self->busy;
    Py_XDECREF(page), Py_XDECREF(reply.fields);
    return given;
}

static PyMethodDef calls_methods[] = {
    {"learn", (PyCFunction)(void (*)(void))calls_learn, METH_VARARGS | METH_KEYWORDS,
     "Know a call: its arguments, its request and its reply."},
    {"ask", (PyCFunction)(void (*)(void))calls_ask, METH_FASTCALL,
     "ask(make, args, named, timeout): the result; None where Python has to ask, False where "
     "nobody answers."},
    {"use_page", (PyCFunction)calls_use_page, METH_VARARGS, "use_page(page, longest)"},
    {"use_socket", (PyCFunction)calls_use_socket, METH_VARARGS,
     "use_socket(send, receive, again, timeout)"},
    {"leave", (PyCFunction)calls_leave, METH_NOARGS, "Ask nobody from now on."},
    {NULL},
};

PyTypeObject CallsType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torqued.client._native.Calls",
    .tp_basicsize = sizeof(CallsObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Requests of a client that come again and again.",
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)calls_init,
    .tp_dealloc = (destructor)calls_dealloc,
    .tp_traverse = (traverseproc)calls_traverse,
    .tp_clear = (inquiry)calls_clear,
    .tp_methods = calls_methods,
};
