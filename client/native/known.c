/* Calls that are known: what is compared, what is filled in, and what is made of the reply. */
#include "known.h"

void forget(struct known *known)
{
    Py_XDECREF(known->make), Py_XDECREF(known->names), Py_XDECREF(known->values);
    Py_XDECREF(known->texts_kept), Py_XDECREF(known->result);
    for (Py_ssize_t k = 0; k < MAX_ARRAYS; ++k) {
        Py_XDECREF(known->fields[k]);
        for (int i = 0; i < KEPT_SETS; ++i) Py_XDECREF(known->kept[i][k]);
    }
    PyMem_Free(known->places);
    PyMem_Free(known->texts);
    PyMem_Free(known);
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
    if (known->array_count > MAX_ARRAYS) return -1;
    for (Py_ssize_t k = 0; k < known->array_count; ++k) {
        PyObject *name, *described;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(arrays, k), "OO!", &name, &PyTuple_Type, &described))
            return -1;
        if (place_of(described, known->reply_size, &known->arrays[k]) < 0) return -1;
        known->fields[k] = Py_NewRef(name);
    }
    return 0;
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

struct known *learn(PyObject *args, PyObject *named, Py_ssize_t id)
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
    if (id + ID_BYTES <= request.len && id + ID_BYTES <= reply_size)
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
    return known;
}

bool is_like(const struct known *known, const struct known *other)
{
    return known->make == other->make && known->by_position == other->by_position &&
           known->request_size == other->request_size && is_same(known->names, other->names) &&
           is_same(known->values, other->values);
}

bool fill_request(struct known *known, PyObject *args, PyObject *named)
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
static int empty_arrays(struct known *known)
{
    int set = 0;
    for (int k = 0; k < KEPT_SETS; ++k) {
        if (is_ours_alone(known, k)) return k;
        if (known->kept[k][0] == NULL) set = k;
    }
    for (Py_ssize_t k = 0; k < known->array_count; ++k) {
        PyObject *data = PyBytes_FromStringAndSize(NULL, known->arrays[k].bytes);
        if (data == NULL) return -1;
        PyObject *array = array_in(data, 0, &known->arrays[k]);
        Py_DECREF(data); /* the array has it */
        if (array == NULL) return -1;
        known->data[set][k] = data;
        Py_XSETREF(known->kept[set][k], array);
    }
    return set;
}

int prepare_reply(struct known *known, struct reply *reply)
{
    const int set = empty_arrays(known);
    reply->fields = set < 0 ? NULL : PyDict_New();
    if (reply->fields == NULL) return -1;
    for (Py_ssize_t k = 0; k < known->array_count; ++k) {
        reply->numbers[k] = PyBytes_AS_STRING(known->data[set][k]);
        if (PyDict_SetItem(reply->fields, known->fields[k], known->kept[set][k]) < 0) return -1;
    }
    return 0;
}

PyObject *result_of(const struct known *known, PyObject *fields)
{
    if (!known->is_plain) return PyObject_CallOneArg(known->result, fields);
    PyTypeObject *kind = (PyTypeObject *)known->result;
    PyObject *result = kind->tp_alloc(kind, 0);
    if (result != NULL && PyObject_GenericSetDict(result, fields, NULL) < 0) Py_CLEAR(result);
    return result;
}

bool take_reply(const struct known *known, const char *data, uint64_t size, Py_ssize_t id,
                uint32_t identity, struct reply *reply)
{
    if (size != (uint64_t)known->reply_size) return false;
    uint32_t found = 0;
    for (int k = 0; k < ID_BYTES; ++k) found = found << 8 | (unsigned char)data[id + k];
    if (found != identity) return false;
    for (Py_ssize_t k = 0; k < known->text_count; ++k)
        if (memcmp(data + known->texts[k].start, known->texts[k].bytes,
                   (size_t)known->texts[k].size) != 0)
            return false;
    for (Py_ssize_t k = 0; k < known->array_count; ++k)
        memcpy(reply->numbers[k], data + known->arrays[k].offset, (size_t)known->arrays[k].bytes);
    return true;
}
