/* Arrays of float64: copied into messages, and made of what came. */
#include "native.h"

int place_of(PyObject *described, Py_ssize_t message, struct place *place)
{
    PyObject *shape;
    if (!PyArg_ParseTuple(described, "nO!", &place->offset, &PyTuple_Type, &shape)) return -1;
    const Py_ssize_t dimensions = PyTuple_GET_SIZE(shape);
    Py_ssize_t count = 1;
    for (Py_ssize_t k = 0; k < dimensions && k < MOST_DIMENSIONS && count >= 0; ++k) {
        const Py_ssize_t length = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k));
        if (length == -1 && PyErr_Occurred()) return -1;
        place->shape[k] = length;
        count = length >= 0 && (length == 0 || count <= message / length) ? count * length : -1;
    }
    place->dimensions = (int)dimensions;
    place->bytes = 8 * count;
    if (dimensions > MOST_DIMENSIONS || count < 0 || place->offset < 0 ||
        place->offset > message || place->bytes > message - place->offset) {
        PyErr_Format(PyExc_ValueError, "an array at %R is not in a message of %zd bytes",
                     described, message);
        return -1;
    }
    return 0;
}

/* A view of an array of float64 of that shape, row by row in memory; false where it is none. */
static bool view_of(PyObject *given, const struct place *place, Py_buffer *view)
{
    if (!PyObject_CheckBuffer(given)) return false;
    if (PyObject_GetBuffer(given, view, PyBUF_ND | PyBUF_FORMAT) < 0) {
        PyErr_Clear(); /* not row by row: numpy makes a copy of it that is */
        return false;
    }
    bool fits = view->ndim == place->dimensions && view->format != NULL &&
                view->len == place->bytes && view->format[0] == 'd' && view->format[1] == 0;
    for (int k = 0; fits && k < view->ndim; ++k) fits = view->shape[k] == place->shape[k];
    if (!fits) PyBuffer_Release(view);
    return fits;
}

bool put_numbers(PyObject *given, const struct place *place, char *message)
{
    Py_buffer view;
    if (!view_of(given, place, &view)) return false;
    memcpy(message + place->offset, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return true;
}

bool is_still_at(PyObject *array, const struct place *place, const char *numbers)
{
    Py_buffer view;
    if (!view_of(array, place, &view)) return false;
    const bool same = view.buf == numbers;
    PyBuffer_Release(&view);
    return same;
}

PyObject *array_in(PyObject *maker, PyObject *kind, PyObject *data, PyObject *shape)
{
    PyObject *const args[] = {shape, kind, data};
    return PyObject_Vectorcall(maker, args, 3, NULL);
}
