/* Reads lines, and prints what pmParseUnitsStr makes of each: powers and scales, and the number; or "error". */
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
	double	number;
	char	*why = NULL;

	line[strcspn(line, "\n")] = '\0';
	memset(&unit, 0, sizeof(unit));
	if (pmParseUnitsStr(line, &unit, &number, &why) < 0) {
	    puts("error");
	    free(why);
	}
	else
	    printf("%d %d %d %d %d %d %.17g\n", unit.dimSpace, unit.dimTime, unit.dimCount,
		    unit.scaleSpace, unit.scaleTime, unit.scaleCount, number);
    }
    return 0;
}
