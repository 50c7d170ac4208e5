/* Arrays of float64: copied into messages, and made of what came. */
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION

#include "native.h"

#include <numpy/arrayobject.h>

int find_numpy(void)
{
    import_array1(-1);
    return 0;
}

int place_of(PyObject *described, Py_ssize_t message, struct place *place)
{
    PyObject *shape;
    if (!PyArg_ParseTuple(described, "nO!", &place->offset, &PyTuple_Type, &shape)) return -1;
    const Py_ssize_t dimensions = PyTuple_GET_SIZE(shape);
    Py_ssize_t count = 1;
    for (Py_ssize_t k = 0; k < dimensions && k < MAX_DIMENSIONS && count >= 0; ++k) {
        const Py_ssize_t length = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, k));
        if (length == -1 && PyErr_Occurred()) return -1;
        place->shape[k] = length;
        count = length >= 0 && (length == 0 || count <= message / length) ? count * length : -1;
    }
    place->dimensions = (int)dimensions;
    place->bytes = 8 * count;
    if (dimensions > MAX_DIMENSIONS || count < 0 || place->offset < 0 ||
        place->offset > message || place->bytes > message - place->offset) {
        PyErr_Format(PyExc_ValueError, "an array at %R is not in a message of %zd bytes",
                     described, message);
        return -1;
    }
    return 0;
}

/* Where the numbers of an array are, if it is one of float64 of that shape, row by row in memory. */
static const char *numbers_of(PyObject *given, const struct place *place)
{
    if (!PyArray_CheckExact(given)) return NULL;
    PyArrayObject *array = (PyArrayObject *)given;
    if (PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISCARRAY_RO(array) ||
        PyArray_NDIM(array) != place->dimensions)
        return NULL;
    for (int k = 0; k < place->dimensions; ++k)
        if (PyArray_DIM(array, k) != place->shape[k]) return NULL;
    return PyArray_BYTES(array);
}

bool put_numbers(PyObject *given, const struct place *place, char *message)
{
    const char *numbers = numbers_of(given, place);
    if (numbers != NULL) memcpy(message + place->offset, numbers, (size_t)place->bytes);
    return numbers != NULL;
}

bool is_still_at(PyObject *array, const struct place *place, const char *numbers)
{
    return numbers_of(array, place) == numbers;
}

PyObject *array_in(PyObject *data, Py_ssize_t offset, const struct place *place)
{
    npy_intp shape[MAX_DIMENSIONS];
    for (int k = 0; k < place->dimensions; ++k) shape[k] = place->shape[k];
    PyObject *array = PyArray_New(&PyArray_Type, place->dimensions, shape, NPY_DOUBLE, NULL,
                                  PyBytes_AS_STRING(data) + offset, 0, NPY_ARRAY_CARRAY_RO, NULL);
    if (array != NULL && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(data)) < 0)
        Py_CLEAR(array);
    return array;
}
