/* a library that is no plugin */
int hr_test_is_no_plugin (void);

int
hr_test_is_no_plugin (void)
{
  return 1;
}
