package tui

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// painted is the text of lines, without what wraps them.
func painted(lines []ink.Line) string {
	theme, _ := ink.Named("bare")
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimLeft(theme.Paint(l), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// What a call carries in the name of a member leaves as what it carries in a value does.
func TestTheNameOfAMemberIsShownWhole(t *testing.T) {
	long := strings.Repeat("x", 300) + "THE-END"
	got := painted(jsonLines(object(`{"to":"ada","`+long+`":1,"deep":{"`+long+`2":"a\nb"}}`), 1_000))
	if !strings.Contains(got, "THE-END: ") || !strings.Contains(got, "THE-END2: ") {
		t.Errorf("a part of a name is missing:\n%s", got)
	}
}

func TestTheNameOfAMemberIsNotTakenForAMember(t *testing.T) {
	got := painted(jsonLines(object(`{"path: \"/home/ada/notes\"   mode":"x"}`), 100))
	if strings.HasPrefix(got, `path: "/home/ada/notes"`) {
		t.Errorf("a name looks like a member that is not there:\n%s", got)
	}
}
