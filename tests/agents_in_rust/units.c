/* Reads lines, and prints what pmParseUnitsStr makes of each: the unit in 32 bits, the number, and the unit as pmUnitsStr
 * shows it; or "error". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcp/pmapi.h>

int
main(void)
{
    char	line[1024];

    while (fgets(line, sizeof(line), stdin) != NULL) {
	pmUnits	unit;
	unsigned int word;
	double	number;
	char	shown[200];
	char	*why = NULL;

	line[strcspn(line, "\n")] = '\0';
	memset(&unit, 0, sizeof(unit));
	if (pmParseUnitsStr(line, &unit, &number, &why) < 0) {
	    puts("error");
	    free(why);
	}
	else {
	    memcpy(&word, &unit, sizeof(word));
	    printf("%08x %.17g %s\n", word, number, pmUnitsStr_r(&unit, shown, sizeof(shown)));
	}
    }
    return 0;
}
