package sandbox

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strings"
)

// automounted are the folders in which the system mounts what is looked up, such as /net: a look from outside for a name that a
// confined program chose would have the system connect to a host of that name.
func automounted() []string {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	return slices.DeleteFunc(automountsIn(f), isSkipped) // every machine has one in /proc, and what is named there is not looked for
}

// automountsIn reads a table of mounts as proc(5) describes it.
func automountsIn(table io.Reader) (folders []string) {
	for lines := bufio.NewScanner(table); lines.Scan(); {
		mount, source, _ := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(mount)
		if kind, _, _ := strings.Cut(source, " "); kind == "autofs" && len(fields) > 4 {
			folders = append(folders, strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4]))
		}
	}
	return folders
}
