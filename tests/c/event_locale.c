/*
 * The bytes of an event are printed as the agent's locale says: one of one byte a character, UTF-8, and none. QUEUE-50
 */
#include <locale.h>
#include <unistd.h>
#include "event_dump.h"

static void
print(const char *locale)
{
    unsigned char bytes[256], text[256];
    int i;

    printf("locale %s: %s\n", locale, setlocale(LC_CTYPE, locale) ? "set" : "not there");
    for (i = 0; i < 256; i++)
	bytes[i] = (unsigned char)i;
    memset(text, 'u', sizeof(text));
    printf("%s\n", __pmdaEventPrint((char *)bytes, 256, (char *)text, 256) == (char *)text ? "printed" : "NULL");
    hex(text, sizeof(text));
    printf("\n");
}

int
main(void)
{
    char here[4096];

    /* Debian's package locales has the sources. */
    if (system("localedef -c -i de_DE -f ISO-8859-1 ./latin >/dev/null 2>&1") == -1 || getcwd(here, sizeof(here)) == NULL)
	return 1;
    setenv("LOCPATH", here, 1);
    print("latin");
    unsetenv("LOCPATH");
    print("C.UTF-8");
    print("C");
    return system("rm -rf ./latin") == 0 ? 0 : 1;
}
