/* A call that has been made before: its arguments, the bytes of its request and of its reply. */
#ifndef TORQUED_KNOWN_H
#define TORQUED_KNOWN_H

#include "native.h"

enum { MAX_ARRAYS = 16, ID_BYTES = 4 };
/* Sets of arrays that are kept: of the newest result, of the one before, and one to fill. */
enum { KEPT_SETS = 3 };

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
    PyObject *fields[MAX_ARRAYS]; /* names of a reply's arrays */
    struct place arrays[MAX_ARRAYS];
    Py_ssize_t array_count;
    Py_ssize_t request_size, reply_size;
    PyObject *kept[KEPT_SETS][MAX_ARRAYS]; /* arrays; the bytes that they are of are theirs */
    PyObject *data[KEPT_SETS][MAX_ARRAYS];
    PyObject *result; /* what makes a result of the fields */
    int is_plain;     /* a class whose objects have them as attributes, and nothing else */
    char request[];
};

/* A reply under way: arrays that its numbers go into, by name, and where their numbers are. */
struct reply {
    PyObject *fields;
    char *numbers[MAX_ARRAYS];
};

/* What client/known_calls.py tells of a call, with the byte where ids are; NULL with an error. */
struct known *learn(PyObject *args, PyObject *named, Py_ssize_t id);
void forget(struct known *known);

/* Whether both are the same call: then the newer one takes its place. */
bool is_like(const struct known *known, const struct known *other);

/* Put the arguments into the request; false where the call is another one. */
bool fill_request(struct known *known, PyObject *args, PyObject *named);

/* Arrays for what is to come; -1 with an error. */
int prepare_reply(struct known *known, struct reply *reply);

/* Take the numbers of a reply; false where it is another one. */
bool take_reply(const struct known *known, const char *data, uint64_t size, Py_ssize_t id,
                uint32_t identity, struct reply *reply);

/* What the client's method gives. */
PyObject *result_of(const struct known *known, PyObject *fields);

#endif
