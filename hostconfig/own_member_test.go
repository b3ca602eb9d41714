package hostconfig_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/hostconfig"
)

func TestAMemberIsSetInTheWayOfTheFile(t *testing.T) {
	for _, c := range []struct{ name, before, path, value, after string }{
		{"an empty file", "", "junction servers a sandbox", `{"read":["~/x"]}`,
			"{\n  \"junction\": {\n    \"servers\": {\n      \"a\": {\n        \"sandbox\": {\n          \"read\": [\"~/x\"]\n        }\n      }\n    }\n  }\n}\n"},
		{"a file on one line", `{"mcpServers": {}}`, "junction servers a sandbox", `{}`, `{"mcpServers": {}, "junction": {"servers": {"a": {"sandbox": {}}}}}`},
		{"objects that are there", "{\n  // mine\n  \"junction\": {\n    \"names\": \"none\", // short\n    \"servers\": {\n      \"a\": {\"prefix\": \"x\"}\n    }\n  }\n}\n", "junction servers a sandbox read", `["~/x","/y & z"]`,
			"{\n  // mine\n  \"junction\": {\n    \"names\": \"none\", // short\n    \"servers\": {\n      \"a\": {\"prefix\": \"x\", \"sandbox\": {\"read\": [\"~/x\", \"/y & z\"]}}\n    }\n  }\n}\n"},
		{"a list that is there", "{\r\n\t\"junction\": {\r\n\t\t\"read\": [\r\n\t\t\t\"/a\"\r\n\t\t], // why\r\n\t\t\"write\": []\r\n\t}\r\n}", "junction read", `["/a","/b"]`,
			"{\r\n\t\"junction\": {\r\n\t\t\"read\": [\r\n\t\t\t\"/a\",\r\n\t\t\t\"/b\"\r\n\t\t], // why\r\n\t\t\"write\": []\r\n\t}\r\n}"},
		{"a list on one line", "{\"a\": [\"x\" /* c */]}", "a", `["x","y",1]`, "{\"a\": [\"x\", /* c */ \"y\", 1]}"},
		{"a list with comments", "{\"a\": [\n  // first\n  \"x\", // why x\n  \"y\" // why y\n  // last\n]}", "a", `["x","y","z"]`, "{\"a\": [\n  // first\n  \"x\", // why x\n  \"y\", // why y\n  // last\n  \"z\"\n]}"},
		{"a list with a comma at its end", "{\"a\": [\n  \"x\", // why x\n]}", "a", `["x","y"]`, "{\"a\": [\n  \"x\", // why x\n  \"y\",\n]}"},
		{"a list with one item less", "{\"a\": [\n  \"x\", // why x\n  \"y\",\n  \"z\" // why z\n]}", "a", `["x","z"]`, "{\"a\": [\n  \"x\", // why x\n  \"z\" // why z\n]}"},
		{"a list without its last item", "{\"a\": [\n  \"x\", // why x\n  \"y\"\n]}", "a", `["x"]`, "{\"a\": [\n  \"x\" // why x\n]}"},
		{"a list whose line ends in a comment", "{\"a\": [\"x\" // c\n]}", "a", `["x","y"]`, "{\"a\": [\"x\", \"y\"]}"},
		{"an empty list", "{\"a\": []}", "a", `["x"]`, "{\"a\": [\"x\"]}"},
		{"another list", "{\"a\": [\n  \"x\",\n  \"y\"\n]}", "a", `["z","x"]`, "{\"a\": [\"z\", \"x\"]}"},
		{"a list that goes", "{\n  \"junction\": {\n    // what it reads\n    \"read\": [\"/a\"],\n    \"write\": []\n  }\n}\n", "junction read", "", "{\n  \"junction\": {\n    // what it reads\n    \"write\": []\n  }\n}\n"},
		{"one that is not there goes", "{\n  \"junction\": {}\n}\n", "junction servers a", "", "{\n  \"junction\": {}\n}\n"},
	} {
		var value json.RawMessage
		if c.value != "" {
			value = json.RawMessage(c.value)
		}
		got, err := hostconfig.SetMember([]byte(c.before), strings.Fields(c.path), value)
		if err != nil || string(got) != c.after {
			t.Errorf("%s: %v\n%q, want\n%q", c.name, err, got, c.after)
		}
	}
}

func TestMembersAreSetInObjectsOnly(t *testing.T) {
	_, err := hostconfig.SetMember([]byte(`{"junction": {"servers": []}}`), []string{"junction", "servers", "a"}, json.RawMessage("{}"))
	if want := `junction.servers is not an object, so "a" cannot be written into it`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
