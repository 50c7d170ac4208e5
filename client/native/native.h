/* What the parts of torqued.client._native have in common. */
#ifndef TORQUED_NATIVE_H
#define TORQUED_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "page.h"

enum { MAX_DIMENSIONS = 8 };

/* Where an array's numbers are in a message, and its shape. */
struct place {
    Py_ssize_t offset, bytes, shape[MAX_DIMENSIONS];
    int dimensions;
};

/* Of (offset, shape), for a message of so many bytes; -1 with an error where it does not fit. */
int place_of(PyObject *described, Py_ssize_t message, struct place *place);

/* Numpy's functions, before any other; -1 with an error. */
int find_numpy(void);

/* Copy an array of float64 of exactly that shape into a message; false, and no error, where it is
 * none, or not row by row in memory. */
bool put_numbers(PyObject *given, const struct place *place, char *message);

/* Whether an array that was made for that place is still of its shape, at that address: one that
 * somebody has had may have been given another. */
bool is_still_at(PyObject *array, const struct place *place, const char *numbers);

/* A read-only array of that shape in a bytes object, from a byte on. */
PyObject *array_in(PyObject *data, Py_ssize_t offset, const struct place *place);

/* s, as Python has them, in ns; at most what a clock can be compared with. */
int64_t nanoseconds(double seconds);

typedef struct {
    PyObject_HEAD
    struct page page;
    Py_buffer memory;
    int sized;  /* frames begin with their size: those of requests */
    int busy;   /* calls under way: a page that is closed meanwhile stays until they are done */
    int closed;
} PageObject;

extern PyTypeObject PageType, StepsType;

/* Around all use of a page; -1 with an error where it is closed. */
int enter_page(PageObject *self);
void leave_page(PageObject *self);

/* Wait for an output without the interpreter's lock; -1 with an error where a signal's handler
 * raised one, or closed the page. */
int pause_for_output(PageObject *self, int64_t nanoseconds);

#endif
