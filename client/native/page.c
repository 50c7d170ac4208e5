/* `Page`: what client/memory_page.py does in Python, with the same names and the same rules. */
#include "native.h"

#include <structmember.h>

enum { SIZE = 8 }; /* bytes before a body that tell its size, where frames are sized */

int64_t nanoseconds(double seconds)
{
    if (!(seconds > 0.0)) return 0;
    return seconds < 1e9 ? (int64_t)(seconds * 1e9) : (int64_t)1e18;
}

int enter_page(PageObject *self)
{
    if (self->closed) {
        PyErr_SetString(PyExc_ValueError, "this page of shared memory is closed");
        return -1;
    }
    ++self->busy;
    return 0;
}

void leave_page(PageObject *self)
{
    if (--self->busy == 0 && self->closed) PyBuffer_Release(&self->memory);
}

int pause_for_output(PageObject *self, int64_t nanoseconds)
{
    Py_BEGIN_ALLOW_THREADS
    wait_for_output(&self->page, nanoseconds);
    Py_END_ALLOW_THREADS
    if (PyErr_CheckSignals() < 0) return -1;
    if (self->closed) {
        PyErr_SetString(PyExc_ValueError, "this page of shared memory was closed");
        return -1;
    }
    return 0;
}

static bool fits(const struct page *page, uint64_t first, uint64_t slot, uint64_t frame,
                 uint64_t whole)
{
    return first % 8 == 0 && slot % 8 == 0 && page->lock_bytes + frame <= slot && first < whole &&
           page->slots <= (whole - first) / slot;
}

static int page_init(PageObject *self, PyObject *args, PyObject *named)
{
    static char *names[] = {"memory", "words", "layout", "state_bytes", "output_bytes",
                            "spin",   "sized", NULL};
    struct page *page = &self->page;
    unsigned long long word[5], place[6], state, output;
    double spin;
    if (self->memory.obj != NULL) {
        PyErr_SetString(PyExc_TypeError, "a page is made once");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(args, named, "w*(KKKKK)(KKKKKK)KKdp", names, &self->memory,
                                     &word[0], &word[1], &word[2], &word[3], &word[4], &place[0],
                                     &place[1], &place[2], &place[3], &place[4], &place[5], &state,
                                     &output, &spin, &self->sized))
        return -1;
    page->memory = self->memory.buf;
    page->states_word = word[0], page->daemon_sleeps = word[1];
    page->outputs_word = word[2], page->client_sleeps = word[3], page->lock_bytes = word[4];
    page->slots = place[1], page->states = place[2], page->state_slot = place[3];
    page->outputs = place[4], page->output_slot = place[5];
    page->state_bytes = state, page->output_bytes = output, page->spin = nanoseconds(spin);
    const uint64_t whole = (uint64_t)self->memory.len;
    bool good = page->slots > 0 && page->lock_bytes == 8 &&
                fits(page, page->states, page->state_slot, state, whole) &&
                fits(page, page->outputs, page->output_slot, output, whole);
    for (int k = 0; k < 4; ++k) good = good && word[k] % 4 == 0 && word[k] + 4 <= whole;
    if (!good) {
        PyBuffer_Release(&self->memory);
        self->closed = 1;
        PyErr_SetString(PyExc_ValueError, "frames of these sizes do not fit into the page");
        return -1;
    }
    page->sent = load(page, page->states_word); /* where another process had it before */
    page->taken = load(page, page->outputs_word);
    self->closed = 0;
    return 0;
}

static PyObject *page_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PageObject *self = (PageObject *)type->tp_alloc(type, 0);
    if (self != NULL) self->closed = 1; /* until it is made */
    return (PyObject *)self;
}

static void page_dealloc(PageObject *self)
{
    if (!self->closed) PyBuffer_Release(&self->memory);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *page_close(PageObject *self, PyObject *unused)
{
    if (!self->closed) {
        self->closed = 1;
        if (self->busy == 0) PyBuffer_Release(&self->memory);
    }
    Py_RETURN_NONE;
}

static PyObject *page_send(PageObject *self, PyObject *frame)
{
    Py_buffer given;
    if (PyObject_GetBuffer(frame, &given, PyBUF_SIMPLE) < 0) return NULL;
    struct page *page = &self->page;
    const Py_ssize_t before = self->sized ? SIZE : 0;
    if ((uint64_t)(given.len + before) > page->state_bytes) {
        PyErr_Format(PyExc_ValueError, "frame of %zd bytes, there are %zd", given.len,
                     (Py_ssize_t)page->state_bytes - before);
        PyBuffer_Release(&given);
        return NULL;
    }
    if (enter_page(self) < 0) {
        PyBuffer_Release(&given);
        return NULL;
    }
    char *place = begin_state(page);
    const uint64_t size = (uint64_t)given.len;
    memcpy(place, &size, (size_t)before);
    memcpy(place + before, given.buf, size);
    end_state(page, place);
    leave_page(self);
    PyBuffer_Release(&given);
    Py_RETURN_NONE;
}

/* The newest output as bytes, unless it is number `taken`; None without one. */
static PyObject *output_after(PageObject *self, int64_t taken, bool is_received)
{
    struct page *page = &self->page;
    for (int k = 0; k < TRIES; ++k) {
        uint32_t count;
        const char *frame = newest_output(page, taken, &count);
        if (frame == NULL) break;
        uint64_t size = page->output_bytes, before = 0;
        if (self->sized) {
            memcpy(&size, frame, SIZE);
            before = SIZE;
            if (size > page->output_bytes - SIZE) size = page->output_bytes - SIZE;
        }
        PyObject *data = PyBytes_FromStringAndSize(frame + before, (Py_ssize_t)size);
        if (data == NULL) return NULL;
        if (is_still_whole(page, frame, count)) {
            if (is_received) page->taken = count;
            return data;
        }
        Py_DECREF(data);
    }
    Py_RETURN_NONE;
}

static PyObject *page_newest(PageObject *self, PyObject *unused)
{
    if (enter_page(self) < 0) return NULL;
    PyObject *data = output_after(self, self->page.taken, true);
    leave_page(self);
    return data;
}

static PyObject *page_glance(PageObject *self, PyObject *unused)
{
    if (enter_page(self) < 0) return NULL;
    PyObject *data = output_after(self, -1, false);
    leave_page(self);
    return data;
}

static PyObject *page_receive(PageObject *self, PyObject *seconds)
{
    const double longest = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred() || enter_page(self) < 0) return NULL;
    const int64_t deadline = now() + nanoseconds(longest);
    PyObject *data = output_after(self, self->page.taken, true);
    while (data == Py_None) {
        const int64_t left = deadline - now();
        if (left <= 0) break;
        Py_DECREF(data);
        data = NULL;
        if (pause_for_output(self, left) < 0) break;
        data = output_after(self, self->page.taken, true);
    }
    leave_page(self);
    return data;
}

static PyObject *page_wait(PageObject *self, PyObject *seconds)
{
    const double longest = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred() || enter_page(self) < 0) return NULL;
    const int result = pause_for_output(self, nanoseconds(longest));
    leave_page(self);
    if (result < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *page_address(PageObject *self, void *unused)
{
    return PyLong_FromVoidPtr(self->page.memory);
}

static PyMethodDef page_methods[] = {
    {"send", (PyCFunction)page_send, METH_O, "Hand over a frame without waiting."},
    {"newest", (PyCFunction)page_newest, METH_NOARGS, "The newest output not received, or None."},
    {"glance", (PyCFunction)page_glance, METH_NOARGS, "The newest output, without receiving it."},
    {"receive", (PyCFunction)page_receive, METH_O, "The next output, or None when time is up."},
    {"wait", (PyCFunction)page_wait, METH_O, "Until there is another output; may return early."},
    {"close", (PyCFunction)page_close, METH_NOARGS, "Give the memory back."},
    {NULL},
};
static PyMemberDef page_members[] = {
    {"sent", T_UINT, offsetof(PageObject, page.sent), 0, "Frames written, modulo 2^32."},
    {"taken", T_UINT, offsetof(PageObject, page.taken), 0, "Count of the last output taken."},
    {NULL},
};
static PyGetSetDef page_getters[] = {
    {"address", (getter)page_address, NULL, "Where the page is in memory.", NULL},
    {NULL},
};

PyTypeObject PageType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torqued.client._native.Page",
    .tp_basicsize = sizeof(PageObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The client's side of a page of shared memory.",
    .tp_new = page_new,
    .tp_init = (initproc)page_init,
    .tp_dealloc = (destructor)page_dealloc,
    .tp_methods = page_methods,
    .tp_members = page_members,
    .tp_getset = page_getters,
};
