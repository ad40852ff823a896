/* sizing.c: the size of each image is decided once, by the first element that has a say in it */
#include "sizing.h"
#include "image-header.h"

static const char *const property_names[] = { "min-pixels", "max-pixels",   "patch-size",
                                              "merge-size", "smart-resize", NULL };

gboolean
hr_sizing_check (guint64 min_pixels, guint64 max_pixels, GError **error)
{
  if (min_pixels <= max_pixels)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "min-pixels=%" G_GUINT64_FORMAT " is more than max-pixels=%" G_GUINT64_FORMAT,
               min_pixels, max_pixels);
  return FALSE;
}

/* ---- in a chain ---- */

static GParamSpec *
find_property (HrElement *element, const char *property)
{
  return g_object_class_find_property (G_OBJECT_GET_CLASS (element), property);
}

static HrWalk
end_at_property (HrElement *element, gpointer property)
{
  return find_property (element, property) != NULL ? HR_WALK_END : HR_WALK_ON;
}

/* the farthest one upstream that has the property; of several inputs the first that has one */
static HrElement *
find_first (HrElement *element, const char *property)
{
  HrElement *first = find_property (element, property) != NULL ? element : NULL;

  for (HrElement *at = element;
       (at = hr_element_walk_upstream (at, end_at_property, (gpointer)property)) != NULL;)
    first = at;
  return first;
}

gboolean
hr_sizing_decides (HrElement *element)
{
  return find_property (element, "min-pixels") != NULL;
}

HrElement *
hr_sizing_find_first (HrElement *element)
{
  return find_first (element, "min-pixels");
}

guint64
hr_sizing_get_uint (HrElement *element, const char *property)
{
  HrElement *first = find_first (element, property);
  guint64 value = 0;

  g_return_val_if_fail (first != NULL, 0);
  g_object_get (first, property, &value, NULL);
  return value;
}

static char *
value_text (const GValue *value)
{
  if (G_VALUE_HOLDS_ENUM (value)) {
    g_autoptr (GEnumClass) class = g_type_class_ref (G_VALUE_TYPE (value));

    return g_strdup (g_enum_get_value (class, g_value_get_enum (value))->value_nick);
  }
  return g_strdup_printf ("%" G_GUINT64_FORMAT, g_value_get_uint64 (value));
}

/* TRUE: @property of @element was not set, or to what @first has */
static gboolean
check_property (HrElement *element, HrElement *first, const char *property, GError **error)
{
  GParamSpec *spec = find_property (element, property);
  g_auto (GValue) own = G_VALUE_INIT, other = G_VALUE_INIT;
  g_autofree char *own_text = NULL, *other_text = NULL;

  if (spec == NULL || !hr_element_is_set (element, property))
    return TRUE;
  g_value_init (&own, spec->value_type);
  g_object_get_property (G_OBJECT (element), property, &own);
  g_value_init (&other, find_property (first, property)->value_type);
  g_object_get_property (G_OBJECT (first), property, &other);
  own_text = value_text (&own);
  other_text = value_text (&other);
  if (g_str_equal (own_text, other_text))
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "%s=%s, but \"%s\" before it decides the sizes, with %s=%s\n"
               "set it there; what comes later obeys",
               property, own_text, hr_element_get_factory (first), property, other_text);
  return FALSE;
}

gboolean
hr_sizing_check_place (HrElement *element, GError **error)
{
  for (guint i = 0; property_names[i] != NULL; i++) {
    HrElement *first = find_first (element, property_names[i]);

    if (first != NULL && first != element
        && !check_property (element, first, property_names[i], error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
makes_lists (HrElement *element)
{
  g_auto (GValue) mode = G_VALUE_INIT;
  g_autofree char *text = NULL;

  if (!g_str_equal (hr_element_get_factory (element), "batch"))
    return FALSE;
  g_value_init (&mode, find_property (element, "mode")->value_type);
  g_object_get_property (G_OBJECT (element), "mode", &mode);
  text = value_text (&mode);
  return g_str_equal (text, "list");
}

static HrWalk
end_at_lists (HrElement *element, gpointer first)
{
  return element == first ? HR_WALK_TURN : makes_lists (element) ? HR_WALK_END : HR_WALK_ON;
}

gboolean
hr_sizing_check_lists (HrElement *element, GError **error)
{
  HrElement *first = hr_sizing_find_first (element);

  if (first == element || hr_element_walk_upstream (element, end_at_lists, first) == NULL)
    return TRUE;
  g_set_error (error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "it stands behind a batch of lists, in which the sizes that \"%s\" decides are "
               "not one array\nput it before \"batch\", or set batch mode=padded or packed",
               hr_element_get_factory (first));
  return FALSE;
}

typedef struct {
  HrElement *asked;
  GError **error;
} Turning;

/* the nearest ones behind that have the property exif; all must agree with the first */
static HrWalk
ask_for_exif (HrElement *next, gpointer data)
{
  Turning *turning = data;
  int mine, others;

  if (find_property (next, "exif") == NULL)
    return HR_WALK_ON;
  if (turning->asked == NULL)
    turning->asked = next;
  g_object_get (next, "exif", &mine, NULL);
  g_object_get (turning->asked, "exif", &others, NULL);
  if (mine == others)
    return HR_WALK_TURN;
  g_set_error (turning->error, HR_PARSE_ERROR, HR_PARSE_ERROR_CONFLICT,
               "\"%s\" and \"%s\" behind it differ in exif=, and it can tell one size alone\n"
               "set the same in both, or put an imagefetch into each branch",
               hr_element_get_name (turning->asked), hr_element_get_name (next));
  return HR_WALK_END;
}

gboolean
hr_sizing_is_turned (HrElement *element, gboolean *turned, GError **error)
{
  Turning turning = { NULL, error };
  int exif = 0;

  if (hr_element_walk_downstream (element, ask_for_exif, &turning) != NULL)
    return FALSE;
  if (turning.asked != NULL)
    g_object_get (turning.asked, "exif", &exif, NULL);
  *turned = exif == 0;
  return TRUE;
}

/* ---- in a sample ---- */

void
hr_sizing_name_image (const HrBuffer *sample, guint index, GError **error)
{
  HrList *links = hr_buffer_get_list (sample, "image_links");
  const char *link = links != NULL && index < hr_list_get_length (links)
                         ? hr_list_get_string (links, index)
                         : NULL;

  if (link != NULL)
    g_prefix_error (error, "%s: ", link);
  else
    g_prefix_error (error, "image %u: ", index);
  if (*error != NULL && (*error)->domain == HR_DATA_ERROR)
    hr_data_error_set_member (*error, link, index);
}

/* encoded bytes without a size in their header: what is it, then? */
static gboolean
fail_encoded (const HrTensor *bytes, GError **error)
{
  HrImageHeader header;

  if (!hr_image_header_read (hr_tensor_get_data (bytes), hr_tensor_get_n_bytes (bytes), G_MAXUINT64,
                             &header, error))
    return FALSE;
  hr_set_data_error (error, HR_DATA_ERROR_MEDIA_UNDECODABLE, "its header tells no size");
  return FALSE;
}

/* @image: (nullable): that member */
static gboolean
find_size (const HrBuffer *sample, guint index, HrTensor *image, guint32 *height, guint32 *width)
{
  HrTensor *sizes = hr_buffer_get_tensor (sample, "image_sizes");

  if (sizes != NULL && index < hr_tensor_get_shape (sizes)[0]) {
    const gint32 *size = (const gint32 *)hr_tensor_get_data (sizes) + 2 * index;

    *height = size[0];
    *width = size[1];
    if (size[0] > 0 && size[1] > 0)
      return TRUE;
  }
  if (image != NULL && hr_tensor_get_n_dims (image) == 3 && hr_tensor_get_shape (image)[0] > 0
      && hr_tensor_get_shape (image)[1] > 0) {
    *height = hr_tensor_get_shape (image)[0];
    *width = hr_tensor_get_shape (image)[1];
    return TRUE;
  }
  return FALSE;
}

static HrTensor *
get_image (const HrBuffer *sample, guint index)
{
  HrList *images = hr_buffer_get_list (sample, "images");

  return images != NULL && index < hr_list_get_length (images) ? hr_list_get_tensor (images, index)
                                                               : NULL;
}

guint64
hr_sizing_get_cost (gconstpointer self, const HrBuffer *sample, guint index)
{
  guint32 height, width;

  (void)self;
  return find_size (sample, index, get_image (sample, index), &height, &width)
             ? (guint64)height * width
             : 0;
}

gboolean
hr_sizing_get_size (const HrBuffer *sample, guint index, guint32 *height, guint32 *width,
                    GError **error)
{
  HrTensor *image = get_image (sample, index);

  if (find_size (sample, index, image, height, width))
    return TRUE;
  if (image != NULL && hr_tensor_get_n_dims (image) == 1)
    return fail_encoded (image, error);
  g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
               "has no size yet: imagefetch or imagedecode must stand before this element");
  return FALSE;
}

gboolean
hr_sizing_decide (const HrSmartResize *rule, HrBuffer *sample, GError **error)
{
  HrList *images = hr_buffer_get_list (sample, "images");
  guint n = images != NULL ? hr_list_get_length (images) : 0;
  g_autoptr (HrMemory) memory = NULL;
  gint32 *targets;

  if (n == 0 || hr_buffer_get_tensor (sample, "image_targets") != NULL)
    return TRUE;
  if (hr_buffer_get_list (sample, "image_targets") != NULL) {
    g_set_error (error, HR_CORE_ERROR, HR_CORE_ERROR_FAILED,
                 "a batch of lists is no sample: put this element before batch, or set batch "
                 "mode=padded or packed");
    return FALSE;
  }
  memory = hr_memory_new (n * 2 * sizeof (gint32));
  targets = (gint32 *)memory->data;
  for (guint i = 0; i < n; i++) {
    guint32 height, width;

    if (!hr_sizing_get_size (sample, i, &height, &width, error)
        || !hr_smart_resize (rule, height, width, &targets[2 * i], &targets[2 * i + 1], error)) {
      hr_sizing_name_image (sample, i, error);
      return FALSE;
    }
  }
  hr_buffer_set_tensor (
      sample, "image_targets",
      hr_tensor_new (g_steal_pointer (&memory), 0, HR_INT32, 2, (const gint64[]){ n, 2 }));
  return TRUE;
}
