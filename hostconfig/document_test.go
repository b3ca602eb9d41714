package hostconfig

import "testing"

func TestEntriesOfOneNameAreNotUsed(t *testing.T) {
	for path, text := range map[string]string{
		"mcp.json":    `{"mcpServers":{"a":{"command":"x"},"b":{"command":"x"},"a":{"command":"y"},"b":{"url":"https://b.example"},"c":{"command":"z"}}}`,
		"config.yaml": "mcpServers:\n- {name: a}\n- {name: b, command: x}\n- {name: a, command: x}\n- {name: b, url: 'https://b.example'}\n- {name: c, command: z}\n",
	} {
		d, err := Parse(Host{}, path, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var used []string
		for _, e := range d.Entries {
			if e.Problem == nil {
				used = append(used, e.Name)
			} else if e.Problem.Error() != "it is defined twice; remove one" {
				t.Errorf("%s: %s: %v", path, e.Name, e.Problem)
			}
		}
		if len(used) != 1 || used[0] != "c" {
			t.Errorf("%s: used are %q", path, used)
		}
	}
}
