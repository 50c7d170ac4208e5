/* `Steps`: a session's step in shared memory, from its arrays to its output, in one call.
 *
 * The same as `Session.step` does in Python. Outputs, and the array of their first value, are made
 * before the torque is there, and filled once it has come. What is rare (other kinds of numbers,
 * the last output, nothing in time) is left to methods of the session.
 *
 * A controller that wakes up once in a millisecond finds nothing of this in the processor's caches,
 * and often shares a processor with the daemon's thread: what is not done is what saves time. So
 * outputs that nobody has any more are filled again.
 */
#include "native.h"

#include <structmember.h>

/* Outputs that are kept: one with the caller, one that it is about to let go, one to fill. */
enum { KEPT = 3 };

typedef struct {
    PyObject_HEAD
    PageObject *page;
    Py_buffer frame;  /* of states: prefix, head, q, v and references */
    Py_buffer phase;  /* one number: the deadline of the newest output */
    PyObject *kind;   /* of outputs */
    Py_ssize_t data_slot, head_slot, first_slot; /* bytes in such an object */
    PyObject *kept[KEPT];
    struct place first; /* of an output's first array */
    struct place *places;                      /* q, v, and references in their order */
    Py_ssize_t count;
    Py_ssize_t sequence, stamp, at;                /* bytes in a state */
    Py_ssize_t seen, status, time, deadline; /* bytes in an output */
    unsigned long long last;                       /* bit of the status */
    int is_plain; /* a state needs nothing but q and v */
} StepsObject;

static PyObject *name_oldest, *name_late, *name_pack, *name_parse, *name_no_answer;

static int64_t whole_at(const char *frame, Py_ssize_t place)
{
    int64_t number;
    memcpy(&number, frame + place, sizeof(number));
    return number;
}

static double number_at(const char *frame, Py_ssize_t place)
{
    double number;
    memcpy(&number, frame + place, sizeof(number));
    return number;
}

/* Where a slot of a class is in its objects; 0 where it has none of that name. */
static Py_ssize_t slot_of(PyObject *kind, const char *name)
{
    if (!PyType_Check(kind)) return 0;
    PyObject *slot = PyObject_GetAttrString(kind, name);
    Py_ssize_t offset = 0;
    if (slot != NULL && Py_IS_TYPE(slot, &PyMemberDescr_Type)) {
        const PyMemberDef *member = ((PyMemberDescrObject *)slot)->d_member;
        if (member->type == T_OBJECT_EX) offset = member->offset;
    }
    PyErr_Clear();
    Py_XDECREF(slot);
    return offset;
}

static PyObject **slot_in(PyObject *output, Py_ssize_t offset)
{
    return (PyObject **)((char *)output + offset);
}

/* Have an output's first value under its name, read from its slot: what the interpreter has a
 * shortcut for. All kinds of outputs have that slot at the same place. */
static int show_first(StepsObject *self, PyObject *name)
{
    static PyMemberDef member = {"first", T_OBJECT_EX, 0, READONLY, NULL};
    if (member.offset != 0 && member.offset != self->first_slot) {
        PyErr_SetString(PyExc_ValueError, "outputs of this kind are laid out in another way");
        return -1;
    }
    member.offset = self->first_slot;
    PyObject *shown = PyDescr_NewMember((PyTypeObject *)self->kind, &member);
    const int result = shown == NULL ? -1 : PyObject_SetAttr(self->kind, name, shown);
    Py_XDECREF(shown);
    return result;
}

static int steps_init(StepsObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"page",  "frame", "phase",      "places", "state_head",
                            "output_head", "last",  "needs_more", "kind",   "name",  "first", NULL};
    PyObject *places, *kind, *name, *first;
    int needs_more;
    if (self->page != NULL) {
        PyErr_SetString(PyExc_TypeError, "steps are made once");
        return -1;
    }
    PyObject *page = NULL;
    if (!PyArg_ParseTupleAndKeywords(
            args, named, "O!w*w*O!(nnn)(nnnn)KpOOO!", names, &PageType, &page, &self->frame,
            &self->phase, &PyTuple_Type, &places, &self->sequence, &self->stamp, &self->at,
            &self->seen, &self->status, &self->time, &self->deadline, &self->last, &needs_more,
            &kind, &name, &PyTuple_Type, &first))
        return -1;
    self->page = (PageObject *)Py_NewRef(page);
    self->kind = Py_NewRef(kind);
    self->is_plain = !needs_more;
    self->count = PyTuple_GET_SIZE(places);
    self->places = PyMem_Calloc((size_t)self->count + 1, sizeof(struct place));
    if (self->places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t k = 0; k < self->count; ++k)
        if (place_of(PyTuple_GET_ITEM(places, k), self->frame.len, &self->places[k]) < 0) return -1;
    const Py_ssize_t heads[] = {self->sequence, self->stamp, self->at};
    const Py_ssize_t read[] = {self->seen, self->status, self->time, self->deadline};
    const Py_ssize_t output = (Py_ssize_t)self->page->page.output_bytes;
    if (place_of(first, output, &self->first) < 0) return -1;
    self->data_slot = slot_of(self->kind, "_data");
    self->head_slot = slot_of(self->kind, "_head");
    self->first_slot = slot_of(self->kind, "_first");
    bool good = self->count >= 2 && self->phase.len >= 8 && self->data_slot > 0 &&
                self->head_slot > 0 && self->first_slot > 0 &&
                (uint64_t)self->frame.len == self->page->page.state_bytes;
    for (int k = 0; k < 3; ++k) good = good && heads[k] >= 0 && heads[k] + 8 <= self->frame.len;
    for (int k = 0; k < 4; ++k) good = good && read[k] >= 0 && read[k] + 8 <= output;
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "these frames are not those of the page");
        return -1;
    }
    return show_first(self, name);
}

static void steps_dealloc(StepsObject *self)
{
    Py_XDECREF(self->page);
    for (int k = 0; k < KEPT; ++k) Py_XDECREF(self->kept[k]);
    if (self->frame.obj != NULL) PyBuffer_Release(&self->frame);
    if (self->phase.obj != NULL) PyBuffer_Release(&self->phase);
    Py_XDECREF(self->kind);
    PyMem_Free(self->places);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Fill the frame of the next state as `_pack` does; false where that has to do it. */
static bool fill_frame(StepsObject *self, PyObject *q, PyObject *v, PyObject *references)
{
    char *frame = self->frame.buf;
    const Py_ssize_t given = PyTuple_GET_SIZE(references);
    if (given > self->count - 2) return false;
    if (!put_numbers(q, &self->places[0], frame) || !put_numbers(v, &self->places[1], frame))
        return false;
    for (Py_ssize_t k = 0; k < given; ++k)
        if (!put_numbers(PyTuple_GET_ITEM(references, k), &self->places[2 + k], frame))
            return false;
    const int64_t sequence = whole_at(frame, self->sequence) + 1;
    const double stamp = (double)now() / 1e9;
    memcpy(frame + self->sequence, &sequence, sizeof(sequence));
    memcpy(frame + self->stamp, &stamp, sizeof(stamp));
    memcpy(frame + self->at, &stamp, sizeof(stamp));
    return true;
}

/* An output whose bytes are still to come, and its first array; NULL with an error. */
static PyObject *new_output(StepsObject *self)
{
    PyTypeObject *kind = (PyTypeObject *)self->kind;
    PyObject *output = kind->tp_alloc(kind, 0);
    if (output == NULL) return NULL;
    PyObject *data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)self->page->page.output_bytes);
    *slot_in(output, self->data_slot) = data;
    if (data != NULL)
        *slot_in(output, self->first_slot) = array_in(data, self->first.offset, &self->first);
    if (data == NULL || *slot_in(output, self->first_slot) == NULL) Py_CLEAR(output);
    return output;
}

/* Whether nobody but us has an output, its array, or its bytes (which the array has too). */
static bool is_ours_alone(const StepsObject *self, PyObject *output)
{
    PyObject *first = *slot_in(output, self->first_slot), *data = *slot_in(output, self->data_slot);
    return Py_REFCNT(output) == 1 && first != NULL && Py_REFCNT(first) == 1 && data != NULL &&
           Py_REFCNT(data) == 2 &&
           is_still_at(first, &self->first, PyBytes_AS_STRING(data) + self->first.offset);
}

/* An output to be filled: one of those that are kept, or a new one. */
static PyObject *empty_output(StepsObject *self)
{
    int free = KEPT - 1;
    for (int k = 0; k < KEPT; ++k) {
        PyObject *output = self->kept[k];
        if (output != NULL && is_ours_alone(self, output)) {
            Py_CLEAR(*slot_in(output, self->head_slot)); /* made of other bytes */
            return Py_NewRef(output);
        }
        if (output == NULL) free = k;
    }
    PyObject *output = new_output(self);
    if (output != NULL) Py_XSETREF(self->kept[free], Py_NewRef(output));
    return output;
}

static int count_late(PyObject *session)
{
    PyObject *late = PyObject_GetAttr(session, name_late), *one = PyLong_FromLong(1), *sum = NULL;
    if (late != NULL && one != NULL) sum = PyNumber_Add(late, one);
    const int result = sum == NULL ? -1 : PyObject_SetAttr(session, name_late, sum);
    Py_XDECREF(late), Py_XDECREF(one), Py_XDECREF(sum);
    return result;
}

/* Fill `output` with what answers the state that was sent, or give what the session makes of the
 * last one, or of silence. */
static PyObject *wait_for_answer(StepsObject *self, PyObject *session, PyObject *output,
                                 double oldest, PyObject *timeout, int64_t deadline)
{
    struct page *page = &self->page->page;
    PyObject *data = *slot_in(output, self->data_slot);
    char *frame = PyBytes_AS_STRING(data);
    const int64_t sequence = whole_at(self->frame.buf, self->sequence);
    bool heard = false;
    while (true) {
        if (take_output(page, frame)) {
            if ((uint64_t)whole_at(frame, self->status) & self->last)
                return PyObject_CallMethodOneArg(session, name_parse, data);
            memcpy(self->phase.buf, frame + self->deadline, sizeof(double));
            if ((double)now() / 1e9 - number_at(frame, self->time) <= oldest) {
                if (whole_at(frame, self->seen) >= sequence) return Py_NewRef(output);
                heard = true;
            } else if (count_late(session) < 0) {
                return NULL;
            }
        }
        const int64_t left = deadline - now();
        if (left <= 0) break;
        if (pause_for_output(self->page, left) < 0) return NULL;
    }
    PyObject *const silence[] = {session, timeout, heard ? Py_True : Py_False};
    return PyObject_VectorcallMethod(name_no_answer, silence, 3, NULL);
}

static PyObject *steps_step(StepsObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 7 || !PyTuple_Check(args[3]) || !PyDict_Check(args[4])) {
        PyErr_SetString(PyExc_TypeError, "step(session, q, v, references, named, at, timeout)");
        return NULL;
    }
    PyObject *session = args[0], *references = args[3], *named = args[4], *timeout = args[6];
    const double longest = PyFloat_AsDouble(timeout);
    if (PyErr_Occurred() || enter_page(self->page) < 0) return NULL;
    const bool is_filled = self->is_plain && args[5] == Py_None && PyDict_GET_SIZE(named) == 0 &&
                           fill_frame(self, args[1], args[2], references);
    PyObject *result = NULL, *output = NULL, *given = NULL;
    if (!is_filled) {
        PyObject *const state[] = {session, args[1], args[2], references, named, args[5]};
        PyObject *frame = PyObject_VectorcallMethod(name_pack, state, 6, NULL);
        if (frame == NULL) goto done;
        Py_DECREF(frame); /* it is ours */
    }
    struct page *page = &self->page->page;
    char *place = begin_state(page);
    memcpy(place, self->frame.buf, page->state_bytes);
    end_state(page, place);

    const int64_t deadline = now() + nanoseconds(longest);
    output = empty_output(self);
    given = output == NULL ? NULL : PyObject_GetAttr(session, name_oldest);
    const double oldest = given == NULL ? 0.0 : PyFloat_AsDouble(given);
    if (!PyErr_Occurred())
        result = wait_for_answer(self, session, output, oldest, timeout, deadline);
done:
    Py_XDECREF(given);
    Py_XDECREF(output);
    leave_page(self->page);
    return result;
}

static PyMethodDef steps_methods[] = {
    {"step", (PyCFunction)(void (*)(void))steps_step, METH_FASTCALL,
     "step(session, q, v, references, named, at, timeout): `Session.step`."},
    {NULL},
};

PyTypeObject StepsType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torqued.client._native.Steps",
    .tp_basicsize = sizeof(StepsObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The steps of a session in shared memory.",
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)steps_init,
    .tp_dealloc = (destructor)steps_dealloc,
    .tp_methods = steps_methods,
};

int name_attributes(void)
{
    return (name_oldest = PyUnicode_InternFromString("oldest_output")) == NULL ||
                   (name_late = PyUnicode_InternFromString("late")) == NULL ||
                   (name_pack = PyUnicode_InternFromString("_pack")) == NULL ||
                   (name_parse = PyUnicode_InternFromString("_parse")) == NULL ||
                   (name_no_answer = PyUnicode_InternFromString("_no_answer")) == NULL
               ? -1
               : 0;
}
