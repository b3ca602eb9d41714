// Package fieldstest compares tables in the documentation with the tables of package fields.
package fieldstest

import (
	"os"
	"strings"
	"testing"
)

// Page fails the test unless the table below the given header in a page has exactly the given rows.
// If update is set, it writes the rows into the page instead.
func Page(t *testing.T, page, header, rows string, update bool) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "\n"+header+"\n")
	rule, rest, _ := strings.Cut(rest, "\n")
	if !found || !strings.HasPrefix(rule, "|-") {
		t.Fatalf("%s has no table %q", page, header)
	}
	var had strings.Builder
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		had.WriteString(line)
	}
	if had.String() == rows {
		return
	}
	if !update {
		t.Errorf("%s: the table %q is not that of the fields; write it with -update", page, header)
		return
	}
	written := before + "\n" + header + "\n" + rule + "\n" + rows + strings.TrimPrefix(rest, had.String())
	if err := os.WriteFile(page, []byte(written), 0o644); err != nil {
		t.Fatal(err)
	}
}
