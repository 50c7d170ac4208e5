/* `Calls`: requests that come again and again with other numbers, from the arguments of a client's
 * method to its result, in one call.
 *
 * client/known_calls.py tells what such a call looks like: its arguments, the bytes of its request
 * and of its reply. A call that looks otherwise, and a reply that does, are left to Python, which
 * asks once more: all of these compute something and change nothing. What the reply's numbers go
 * into is made before they are there; arrays that nobody has any more are filled again (steps.c
 * says why).
 */
#include "known.h"

enum { MAX_KNOWN = 64, SIZE = 8 };

typedef struct {
    PyObject_HEAD
    PyObject *identities;
    unsigned long first_id, end_of_ids;
    Py_ssize_t id;             /* byte, in requests and replies */
    PageObject *page;          /* where requests go, or: */
    PyObject *send, *receive, *again; /* of a socket, and the error when its time is up */
    double timeout;            /* s; of a page until Python asks once more, of a socket its own */
    int busy;
    int count;
    struct known *known[MAX_KNOWN];
} CallsObject;

static int calls_init(CallsObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"identities", "first_id", "end_of_ids", "id", NULL};
    PyObject *identities;
    if (self->identities != NULL) {
        PyErr_SetString(PyExc_TypeError, "calls are made once");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(args, named, "Okkn", names, &identities, &self->first_id,
                                     &self->end_of_ids, &self->id))
        return -1;
    self->identities = Py_NewRef(identities);
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

static PyObject *calls_learn(CallsObject *self, PyObject *args, PyObject *named)
{
    struct known *known = learn(args, named, self->id);
    if (known == NULL) return NULL;
    int at = 0;
    while (at < self->count && !is_like(self->known[at], known)) ++at;
    if (self->busy > 0) { /* some call under way has one of them */
        forget(known);
        Py_RETURN_NONE;
    }
    if (at == MAX_KNOWN) { /* then it begins anew */
        while (self->count > 0) forget(self->known[--self->count]);
        at = 0;
    }
    if (at < self->count)
        forget(self->known[at]);
    else
        ++self->count;
    self->known[at] = known;
    Py_RETURN_NONE;
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

/* 1 where the reply has come, 0 where it has to be asked for in Python, -1 with an error. */
static int ask_page(CallsObject *self, PageObject *holder, struct known *known,
                    uint32_t identity, struct reply *reply, double longest)
{
    struct page *page = &holder->page;
    const uint64_t size = (uint64_t)known->request_size;
    if (holder->closed || SIZE + size > page->state_bytes) return 0;
    if (enter_page(holder) < 0) return -1;
    char *place = begin_state(page);
    memcpy(place, &size, SIZE);
    memcpy(place + SIZE, known->request, size);
    end_state(page, place);
    int result = prepare_reply(known, reply);
    const int64_t deadline = now() + nanoseconds(longest);
    while (result == 0) {
        uint32_t count;
        const char *frame = newest_output(page, page->taken, &count);
        if (frame != NULL) {
            uint64_t bytes;
            memcpy(&bytes, frame, SIZE);
            if (bytes > page->output_bytes - SIZE) bytes = 0;
            const bool good = take_reply(known, frame + SIZE, bytes, self->id, identity, reply);
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
    int result = sent == NULL ? -1 : prepare_reply(known, reply);
    if (result == 0) {
        data = PyObject_CallNoArgs(receive);
        if (data == NULL) {
            result = PyErr_ExceptionMatches(again) ? 2 : -1;
            if (result == 2) PyErr_Clear();
        } else if (PyBytes_Check(data)) {
            result = take_reply(known, PyBytes_AS_STRING(data), (uint64_t)PyBytes_GET_SIZE(data),
                                self->id, identity, reply);
        }
    }
    Py_XDECREF(data), Py_XDECREF(sent), Py_XDECREF(request);
    Py_DECREF(again), Py_DECREF(receive);
    return result;
}

/* A call whose reply was another one: it has to be learned anew, or not at all. */
static void no_longer_known(CallsObject *self, struct known *known)
{
    if (self->busy > 0) return; /* another call under way may have it */
    for (int k = 0; k < self->count; ++k) {
        if (self->known[k] != known) continue;
        self->known[k] = self->known[--self->count];
        forget(known);
        return;
    }
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
    int result = page != NULL ? ask_page(self, (PageObject *)page, known, identity, &reply,
                                         timeout < self->timeout ? timeout : self->timeout)
                              : ask_socket(self, known, identity, &reply);
    PyObject *given = NULL;
    if (result == 1)
        given = result_of(known, reply.fields);
    else if (result >= 0)
        given = Py_NewRef(result == 0 ? Py_None : Py_False);
    --self->busy;
    if (result == 0) no_longer_known(self, known);
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
