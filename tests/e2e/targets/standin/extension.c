/* torch/_C: the Python extension module, mapped and never called. */

void *PyInit__C(void);

void *PyInit__C(void)
{
	return 0;
}
