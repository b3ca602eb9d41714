package schema

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The general validator's module contains the official test suite.
func TestTheOfficialSuiteFindsNoMistake(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Skipf("the module's directory is not known: %v", err)
	}
	for folder, dialect := range map[string]string{
		"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
		"draft7":       "http://json-schema.org/draft-07/schema#",
	} {
		files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "jsonschema", "testdata", folder, "*.json"))
		if len(files) == 0 {
			t.Skip("the module came without the suite")
		}
		checked := 0
		for _, file := range files {
			if name := filepath.Base(file); name != "refRemote.json" { // nothing is ever fetched
				checked += checkSuite(t, file, dialect)
			}
		}
		t.Logf("%s: %d values", folder, checked)
	}
}

func checkSuite(t *testing.T, file, dialect string) (checked int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var groups []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
			Valid       bool
		}
	}
	if err := json.Unmarshal(text, &groups); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if rest, ok := strings.CutPrefix(string(g.Schema), "{"); ok && !strings.Contains(rest, `"$schema"`) {
			g.Schema = json.RawMessage(`{"$schema":"` + dialect + `"` + strings.TrimSuffix(","+strings.TrimSpace(rest), ",}"))
			if strings.TrimSpace(rest) == "}" {
				g.Schema = append(g.Schema, '}')
			}
		}
		v, err := Compile(g.Schema)
		if err != nil {
			if !strings.Contains(err.Error(), errElsewhere.Error()) {
				t.Errorf("%s: %s: %v", filepath.Base(file), g.Description, err)
			}
			continue
		}
		for _, c := range g.Tests {
			checked++
			if err := v.Validate(c.Data); (err == nil) != c.Valid {
				t.Errorf("%s: %s: %s: %v (library: %v)", filepath.Base(file), g.Description, c.Description, err, v.library != nil)
			}
		}
	}
	return checked
}
