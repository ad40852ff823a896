/* hr-prop.h: the properties of an element, as rows of a const table */
#pragma once
#include <glib-object.h>

G_BEGIN_DECLS

/**
 * HrPropType:
 * @HR_PROP_TYPE_BOOL: gboolean; true false yes no on off 1 0
 * @HR_PROP_TYPE_INT: gint64
 * @HR_PROP_TYPE_UINT: guint64
 * @HR_PROP_TYPE_DOUBLE: gdouble
 * @HR_PROP_TYPE_SIZE: guint64 bytes; 512 64KiB 2GiB 10MB
 * @HR_PROP_TYPE_DURATION: gint64 nanoseconds; 200ms 30s 5m 2h 15us
 * @HR_PROP_TYPE_STRING: char *
 * @HR_PROP_TYPE_ENUM: gint: index in @choices
 * @HR_PROP_TYPE_STRV: char **; a,b,c
 *
 * Type of a property, the C type of its field, and how it is written in a text.
 */
typedef enum {
  HR_PROP_TYPE_BOOL,
  HR_PROP_TYPE_INT,
  HR_PROP_TYPE_UINT,
  HR_PROP_TYPE_DOUBLE,
  HR_PROP_TYPE_SIZE,
  HR_PROP_TYPE_DURATION,
  HR_PROP_TYPE_STRING,
  HR_PROP_TYPE_ENUM,
  HR_PROP_TYPE_STRV
} HrPropType;

/**
 * HrPropFlags:
 * @HR_PROP_LIVE: may change while the pipeline runs; read it with hr_live_bool() and friends.
 *   Only for bool, int, uint, size, duration and enum.
 * @HR_PROP_STREAM: can change what is delivered, so a checkpoint notes it
 * @HR_PROP_BOUND: beside STREAM: changes only how much is delivered, not what; a checkpoint does
 * not mind
 * @HR_PROP_SHARE: beside STREAM: samples of a step for one rank; a checkpoint minds its product
 * with world
 * @HR_PROP_REQUIRED: has no default; a pipeline text without it is refused
 * @HR_PROP_AUTO: beside LIVE, uint and size: takes the value "auto" as well, and the core changes
 * it while the pipeline runs. Of an element's own one with lookahead() it is the steps, with
 * concurrency() the transfers in flight
 *
 * What setting a property means.
 */
typedef enum {
  HR_PROP_LIVE = 1 << 0,
  HR_PROP_STREAM = 1 << 1,
  HR_PROP_REQUIRED = 1 << 2,
  HR_PROP_BOUND = 1 << 3,
  HR_PROP_SHARE = 1 << 4,
  HR_PROP_AUTO = 1 << 5
} HrPropFlags;

/**
 * HrProp:
 *
 * One row. The macros below make the compiler check the field's C type; `my_field` becomes the
 * property "my-field". Trailing arguments are designators: HR_PROP_UINT (T, x, 0, 9, 1, "…",
 * .flags = HR_PROP_STREAM, .unit = "pixels").
 */
typedef struct {
  const char *field;
  HrPropType type;
  gsize offset;
  gdouble min, max; /* numbers; sizes and durations in bytes and nanoseconds */
  gdouble number;   /* default of numbers, bools and enums */
  const char *text; /* default of strings and lists ("a,b") */
  const char *doc;
  const char *const *choices; /* enums: NULL-terminated names */
  const char *unit;           /* what a number counts, if its name does not say */
  guint flags;                /* HrPropFlags */
} HrProp;

/**
 * HR_PROP_OFFSET:
 * @T: struct of the properties
 * @f: field
 * @ctype: what the field must be
 *
 * Offset of a field. The unused term makes the compiler compare the field's type with the
 * property's.
 */
#define HR_PROP_OFFSET(T, f, ctype)                                                                \
  (G_STRUCT_OFFSET (T, f) + 0 * sizeof (((ctype *)0) == &((T *)0)->f))

/**
 * HR_PROP_BOOL:
 * @T: struct of the properties
 * @f: its field; `my_field` is the property "my-field"
 * @def: its default
 * @document: what it does, for people
 * @...: designators: .flags = HR_PROP_STREAM, .unit = "pixels"
 *
 * A row: yes or no, a gboolean.
 */
#define HR_PROP_BOOL(T, f, def, document, ...)                                                     \
  {                                                                                                \
    .field = #f, .type = HR_PROP_TYPE_BOOL, .offset = HR_PROP_OFFSET (T, f, gboolean), .max = 1,   \
    .number = (gdouble)(def), .doc = document, __VA_ARGS__                                         \
  }

/**
 * HR_PROP_INT:
 * @T: struct of the properties
 * @f: its field; `my_field` is the property "my-field"
 * @lo: the lowest value
 * @hi: the highest value
 * @def: its default
 * @document: what it does, for people
 * @...: designators: .flags = HR_PROP_STREAM, .unit = "pixels"
 *
 * A row: a number, a gint64.
 */
#define HR_PROP_INT(T, f, lo, hi, def, document, ...)                                              \
  {                                                                                                \
    .field = #f, .type = HR_PROP_TYPE_INT, .offset = HR_PROP_OFFSET (T, f, gint64),                \
    .min = (gdouble)(lo), .max = (gdouble)(hi), .number = (gdouble)(def), .doc = document,         \
    __VA_ARGS__                                                                                    \
  }

/**
 * HR_PROP_UINT:
 * @T: struct of the properties
 * @f: its field; `my_field` is the property "my-field"
 * @lo: the lowest value
 * @hi: the highest value
 * @def: its default
 * @document: what it does, for people
 * @...: designators: .flags = HR_PROP_STREAM, .unit = "pixels"
 *
 * A row: a number that is not negative, a guint64.
 */
#define HR_PROP_UINT(T, f, lo, hi, def, document, ...)                                             \
  {                                                                                                \
    .field = #f, .type = HR_PROP_TYPE_UINT, .offset = HR_PROP_OFFSET (T, f, guint64),              \
    .min = (gdouble)(lo), .max = (gdouble)(hi), .number = (gdouble)(def), .doc = document,         \
    __VA_ARGS__                                                                                    \
  }

/**
 * HR_PROP_DOUBLE:
 * @T: struct of the properties
 * @f: its field; `my_field` is the property "my-field"
 * @lo: the lowest value
 * @hi: the highest value
 * @def: its default
 * @document: what it does, for people
 * @...: designators: .flags = HR_PROP_STREAM, .unit = "pixels"
 *
 * A row: a number, a gdouble.
 */
#define HR_PROP_DOUBLE(T, f, lo, hi, def, document, ...)                                           \
  {                                                                                                \
    .field = #f, .type = HR_PROP_TYPE_DOUBLE, .offset = HR_PROP_OFFSET (T, f, gdouble),            \
    .min = (gdouble)(lo), .max = (gdouble)(hi), .number = (gdouble)(def), .doc = document,         \
    __VA_ARGS__                                                                                    \
  }

/**
 * HR_PROP_SIZE:
 * @T: struct of the properties
 * @f: its field; `my_field` is the property "my-field"
 * @lo: the lowest value, in bytes
 * @hi: the highest value, in bytes
 * @def: its default
 * @document: what it does, for people
 * @...: designators: .flags = HR_PROP_STREAM, .unit = "pixels"
 *
 * A row: bytes, a guint64.
 */
#define HR_PROP_SIZE(T, f, lo, hi, def, document, ...)                                             \
  {                                                                                                \
    .field = #f, .type = HR_PROP_TYPE_SIZE, .offset = HR_PROP_OFFSET (T, f, guint64),              \
    .min = (gdouble)(lo), .max = (gdouble)(hi), .number = (gdouble)(def), .doc = document,         \
    __VA_ARGS__                                                                                    \
  }

/**
 * HR_PROP_DURATION:
 * @T: struct of the properties
 * @f: its field; `my_field` is the property "my-field"
 * @lo: the lowest value, in nanoseconds
 * @hi: the highest value, in nanoseconds
 * @def: its default
 * @document: what it does, for people
 * @...: designators: .flags = HR_PROP_STREAM, .unit = "pixels"
 *
 * A row: nanoseconds, a gint64.
 */
#define HR_PROP_DURATION(T, f, lo, hi, def, document, ...)                                         \
  {                                                                                                \
    .field = #f, .type = HR_PROP_TYPE_DURATION, .offset = HR_PROP_OFFSET (T, f, gint64),           \
    .min = (gdouble)(lo), .max = (gdouble)(hi), .number = (gdouble)(def), .doc = document,         \
    __VA_ARGS__                                                                                    \
  }

/**
 * HR_PROP_STRING:
 * @T: struct of the properties
 * @f: its field; `my_field` is the property "my-field"
 * @def: its default; may be %NULL
 * @document: what it does, for people
 * @...: designators: .flags = HR_PROP_STREAM, .unit = "pixels"
 *
 * A row: text, a char pointer.
 */
#define HR_PROP_STRING(T, f, def, document, ...)                                                   \
  {                                                                                                \
    .field = #f, .type = HR_PROP_TYPE_STRING, .offset = HR_PROP_OFFSET (T, f, char *),             \
    .text = def, .doc = document, __VA_ARGS__                                                      \
  }

/**
 * HR_PROP_ENUM:
 * @T: struct of the properties
 * @f: its field; `my_field` is the property "my-field"
 * @names: %NULL-terminated array of names
 * @def: its default, an index
 * @document: what it does, for people
 * @...: designators: .flags = HR_PROP_STREAM, .unit = "pixels"
 *
 * A row: a choice of names, a gint that is the index of one.
 */
#define HR_PROP_ENUM(T, f, names, def, document, ...)                                              \
  {                                                                                                \
    .field = #f, .type = HR_PROP_TYPE_ENUM, .offset = HR_PROP_OFFSET (T, f, gint),                 \
    .choices = names, .number = (gdouble)(def), .doc = document, __VA_ARGS__                       \
  }

/**
 * HR_PROP_STRV:
 * @T: struct of the properties
 * @f: its field; `my_field` is the property "my-field"
 * @def: its default, "a,b"; may be %NULL
 * @document: what it does, for people
 * @...: designators: .flags = HR_PROP_STREAM, .unit = "pixels"
 *
 * A row: texts, a %NULL-terminated array.
 */
#define HR_PROP_STRV(T, f, def, document, ...)                                                     \
  {                                                                                                \
    .field = #f, .type = HR_PROP_TYPE_STRV, .offset = HR_PROP_OFFSET (T, f, char **), .text = def, \
    .doc = document, __VA_ARGS__                                                                   \
  }
#define HR_PROP_END                                                                                \
  {                                                                                                \
    .field = NULL                                                                                  \
  }

/**
 * HR_KIB:
 *
 * 1024 bytes, for ranges of HR_PROP_SIZE().
 */
#define HR_KIB 1024.0

/**
 * HR_MIB:
 *
 * 1024² bytes, for ranges of HR_PROP_SIZE().
 */
#define HR_MIB (1024.0 * 1024)

/**
 * HR_GIB:
 *
 * 1024³ bytes, for ranges of HR_PROP_SIZE().
 */
#define HR_GIB (1024.0 * 1024 * 1024)

/**
 * HR_MSEC:
 *
 * A millisecond in nanoseconds, for ranges of HR_PROP_DURATION().
 */
#define HR_MSEC 1e6

/**
 * HR_SECOND:
 *
 * A second in nanoseconds, for ranges of HR_PROP_DURATION().
 */
#define HR_SECOND 1e9

/**
 * hr_live_uint:
 * @field: its address: `&self->max_batches`
 *
 * Reads a property that is marked #HR_PROP_LIVE.
 */
#define hr_live_uint(field) __atomic_load_n ((field), __ATOMIC_RELAXED)

/**
 * hr_live_int:
 * @field: its address: `&self->rate`
 *
 * Reads a property that is marked #HR_PROP_LIVE.
 */
#define hr_live_int(field) __atomic_load_n ((field), __ATOMIC_RELAXED)

/**
 * hr_live_bool:
 * @field: its address: `&self->silent`
 *
 * Reads a property that is marked #HR_PROP_LIVE.
 */
#define hr_live_bool(field) __atomic_load_n ((field), __ATOMIC_RELAXED)

G_END_DECLS
