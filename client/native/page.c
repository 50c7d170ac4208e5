/* torqued.client._native: `Page`, the client's side of a page of shared memory (page.h), for
 * Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "page.h"

/* Changes with every signature below; client/memory/compiled.py has the same number. */
enum { VERSION = 4 };

typedef struct {
    PyObject_HEAD
    struct page page;
    Py_buffer memory;
    int waiting; /* threads; the last one releases a page that is closed meanwhile */
    bool closed;
} PageObject;

static int64_t nanoseconds(double seconds)
{
    if (!(seconds > 0.0)) return 0;
    return seconds < 1e9 ? (int64_t)(seconds * 1e9) : (int64_t)1e18;
}

static bool fits(uint64_t first, uint64_t slot, uint64_t slots, uint64_t frame, uint64_t page_bytes)
{
    return first % 8 == 0 && first >= CLIENT_SLEEPS + 4 && first < page_bytes && slot % 8 == 0 &&
           slot >= LOCK_BYTES && frame <= slot - LOCK_BYTES && slots <= (page_bytes - first) / slot;
}

static PyObject *page_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"memory", "layout", "state_bytes", "output_bytes", "spin", NULL};
    unsigned long long bytes, slots, states, state_slot, outputs, output_slot, state, output;
    double spin;
    Py_buffer memory;
    if (!PyArg_ParseTupleAndKeywords(args, named, "w*(KKKKKK)KKd", names, &memory, &bytes, &slots,
                                     &states, &state_slot, &outputs, &output_slot, &state, &output,
                                     &spin))
        return NULL;
    PageObject *self = NULL;
    if (bytes > (uint64_t)memory.len || slots == 0 ||
        !fits(states, state_slot, slots, state, bytes) ||
        !fits(outputs, output_slot, slots, output, bytes))
        PyErr_SetString(PyExc_ValueError, "frames of these sizes do not fit into the page");
    else
        self = (PageObject *)type->tp_alloc(type, 0);
    if (self == NULL) {
        PyBuffer_Release(&memory);
        return NULL;
    }
    self->memory = memory;
    self->page = (struct page){
        .memory = memory.buf,
        .slots = slots,
        .states = states,
        .state_slot = state_slot,
        .outputs = outputs,
        .output_slot = output_slot,
        .state_bytes = state,
        .output_bytes = output,
        .spin = nanoseconds(spin),
    };
    /* Another process may have used the page before: continue its counts. */
    self->page.sent = load(&self->page, STATES);
    self->page.taken = load(&self->page, OUTPUTS);
    return (PyObject *)self;
}

static PyObject *page_close(PageObject *self, PyObject *unused)
{
    (void)unused;
    if (!self->closed && self->waiting == 0) PyBuffer_Release(&self->memory);
    self->closed = true;
    Py_RETURN_NONE;
}

static void page_dealloc(PageObject *self)
{
    if (!self->closed) PyBuffer_Release(&self->memory);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static bool require_open(const PageObject *self)
{
    if (self->closed) PyErr_SetString(PyExc_ValueError, "the page of shared memory is closed");
    return !self->closed;
}

/* Wait for an output without the interpreter's lock. False with an error if a signal handler raised
 * one, or the page was closed meanwhile. */
static bool pause_for_output(PageObject *self, int64_t longest)
{
    ++self->waiting;
    Py_BEGIN_ALLOW_THREADS
    wait_for_output(&self->page, longest);
    Py_END_ALLOW_THREADS
    const int result = PyErr_CheckSignals();
    if (--self->waiting == 0 && self->closed) PyBuffer_Release(&self->memory);
    return result == 0 && require_open(self);
}

static PyObject *page_send(PageObject *self, PyObject *frame)
{
    Py_buffer given;
    if (PyObject_GetBuffer(frame, &given, PyBUF_SIMPLE) < 0) return NULL;
    const bool is_whole = (uint64_t)given.len == self->page.state_bytes;
    if (!is_whole)
        PyErr_Format(PyExc_ValueError, "state frame of %zd bytes, expected %llu", given.len,
                     (unsigned long long)self->page.state_bytes);
    const bool is_sent = is_whole && require_open(self);
    if (is_sent) write_state(&self->page, given.buf);
    PyBuffer_Release(&given);
    if (!is_sent) return NULL;
    Py_RETURN_NONE;
}

static PyObject *page_newest(PageObject *self, PyObject *unused)
{
    (void)unused;
    if (!require_open(self)) return NULL;
    if (!has_output(&self->page)) Py_RETURN_NONE;
    PyObject *data = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)self->page.output_bytes);
    if (data == NULL || read_output(&self->page, PyBytes_AS_STRING(data))) return data;
    Py_DECREF(data);
    Py_RETURN_NONE;
}

static PyObject *page_receive(PageObject *self, PyObject *seconds)
{
    const double longest = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred()) return NULL;
    const int64_t deadline = now() + nanoseconds(longest);
    while (true) {
        PyObject *data = page_newest(self, NULL);
        const int64_t left = deadline - now();
        if (data != Py_None || left <= 0) return data;
        Py_DECREF(data);
        if (!pause_for_output(self, left)) return NULL;
    }
}

static PyObject *page_wait(PageObject *self, PyObject *seconds)
{
    const double longest = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred() || !require_open(self)) return NULL;
    if (!pause_for_output(self, nanoseconds(longest))) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef page_methods[] = {
    {"send", (PyCFunction)page_send, METH_O, "Write a state frame without waiting."},
    {"newest", (PyCFunction)page_newest, METH_NOARGS, "The newest output not received, or None."},
    {"receive", (PyCFunction)page_receive, METH_O,
     "The newest output not received; waits so many seconds at most, then None."},
    {"wait", (PyCFunction)page_wait, METH_O,
     "Wait for another output, so many seconds at most, without receiving it; may return early."},
    {"close", (PyCFunction)page_close, METH_NOARGS, "Release the memory."},
    {NULL},
};

static PyTypeObject PageType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "torqued.client._native.Page",
    .tp_basicsize = sizeof(PageObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The client's side of a page of shared memory. Do not share it between threads.",
    .tp_new = page_new,
    .tp_dealloc = (destructor)page_dealloc,
    .tp_methods = page_methods,
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "torqued.client._native",
    .m_doc = "Sessions through shared memory.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (PyModule_AddType(module, &PageType) < 0 ||
                           PyModule_AddIntConstant(module, "VERSION", VERSION) < 0))
        Py_CLEAR(module);
    return module;
}
