/* torqued.client._native: what of the client is worth doing without the interpreter.
 *
 * It is optional. Everything here is in Python as well, and behaves alike; client/compiled.py says
 * which of the two is used.
 */
#include "native.h"

/* Changes with every argument of what is here: client/compiled.py has the same number. */
enum { VERSION = 3 };

int name_attributes(void);

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "torqued.client._native",
    .m_doc = "Exchanges through shared memory.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__native(void)
{
    if (find_numpy() < 0 || name_attributes() < 0) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) return NULL;
    if (PyModule_AddType(module, &PageType) < 0 || PyModule_AddType(module, &StepsType) < 0 ||
        PyModule_AddIntConstant(module, "VERSION", VERSION) < 0)
        Py_CLEAR(module);
    return module;
}
