package docs

import (
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config"
)

func TestTheGatewaysPageNamesEveryMemberOfAnEntry(t *testing.T) {
	text, err := os.ReadFile("gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "The members of an entry are ")
	list, _, ends := strings.Cut(list, "\n\n")
	if !found || !ends {
		t.Fatal("gateway.md has no paragraph \"The members of an entry are …\"")
	}
	for _, member := range config.EntryMembers() {
		if !strings.Contains(list, "`"+member+"`") {
			t.Errorf("gateway.md does not name %q among the members of an entry", member)
		}
	}
}
