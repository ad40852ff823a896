/* py.h: what the files of the extension share. One wheel for all CPythons from 3.11 on. */
#pragma once
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <headrace.h>

/* makes the classes and puts them into the module; 0, or -1 with an exception */
int py_add_errors (PyObject *module);
int py_add_tensor (PyObject *module);
int py_add_batch (PyObject *module);
int py_add_pipeline (PyObject *module);
int py_add_connection (PyObject *module);
int py_init_fields (void);

/* of its domain; NULL with an exception */
PyObject *py_exception_new (const GError *error);
/* takes @error, sets the exception of its domain: its one line, with `kind` and `domain` beside.
 * Returns: NULL */
PyObject *py_raise (GError *error);
/* the words for a kind of error: "bad-json", "not-found" … (transfer none) */
const char *py_error_kind (const GError *error);

/* each takes a reference of what it wraps */
PyObject *py_tensor_new (HrTensor *tensor);
PyObject *py_batch_new (HrBuffer *buffer);
/* borrowed; NULL with a TypeError */
HrBuffer *py_batch_get (PyObject *object);
/* borrowed; NULL, without an exception, if it is no headrace.Tensor */
HrTensor *py_tensor_get (PyObject *object);
/* borrowed */
HrPipeline *py_pipeline_get (PyObject *object);

/* how long anything waits before it looks whether somebody has pressed Ctrl-C */
#define PY_SIGNAL_CHECK_TIME (50 * G_GINT64_CONSTANT (1000000))

/* gives @buffer these fields, and no others; FALSE with an exception */
gboolean py_set_fields (HrBuffer *buffer, PyObject *fields);
/* of arrays that buffers held: lets go of what no buffer holds any more */
void py_let_go (void);

/* methods of a pipeline for programs that feed it or do an element's work */
PyObject *py_push (PyObject *object, PyObject *args, PyObject *keywords);
PyObject *py_end (PyObject *object, PyObject *args);
PyObject *py_take (PyObject *object, PyObject *args);
PyObject *py_answer (PyObject *object, PyObject *args, PyObject *keywords);

/* an instance of a class, its memory zeroed; @type borrowed */
PyObject *py_alloc (PyObject *type);
/* for tp_dealloc: behind the class's own part */
void py_free (PyObject *self);
/* a class from its spec, added to @module; (transfer full) */
PyObject *py_add_type (PyObject *module, PyType_Spec *spec);
