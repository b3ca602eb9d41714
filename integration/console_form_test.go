package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// formScript is the command for a script of the folder page, with what it serves to Chromium.
func formScript(t testing.TB, script string) []string {
	t.Helper()
	web, err := filepath.Abs(filepath.Join("..", "console", "web"))
	if err != nil {
		t.Fatal(err)
	}
	browser := program(t, "chromium")
	argv := nodeScript(t, "page", filepath.Join("page", script), "page/browser.mjs", "page/drive.js", "page/kinds.jsonl")
	return append(argv, web, filepath.Dir(argv[1]), browser)
}

// A filledForm is what page/forms.mjs says of a schema.
type filledForm struct {
	ID, Meta, Sent, Errors, Fault string
	Valid                         bool
	MS                            float64
	Problems                      []string
	Faults                        *[]string // of the page, in the last line
}

// fillForms makes and fills a form for each schema of a file, and returns how many there were.
func fillForms(t *testing.T, file string) int {
	t.Helper()
	var slowest filledForm
	lines := strings.Split(strings.TrimSpace(run(t, nodeEnv(t), append(formScript(t, "forms.mjs"), file)...)), "\n")
	for i, line := range lines {
		var form filledForm
		if err := json.Unmarshal([]byte(line), &form); err != nil {
			t.Fatalf("%v: %.500s", err, line)
		}
		if last := i == len(lines)-1; last != (form.Faults != nil) {
			t.Fatalf("the last line says what went wrong in the page: %.500s", line)
		} else if last {
			if len(*form.Faults) > 0 {
				t.Errorf("the page failed: %q", *form.Faults)
			}
			continue
		}
		if form.Fault != "" || !form.Valid || len(form.Problems) > 0 {
			t.Errorf("%s: the form could not be filled: %q; it sends %.500s, which is valid: %v %s; it complains of %q", form.ID, form.Fault, form.Sent, form.Valid, form.Errors, form.Problems)
		}
		if form.Meta != "" {
			t.Logf("%s is no JSON Schema: %s", form.ID, form.Meta)
		}
		if i > 0 && form.MS > slowest.MS { // the first one waits for the fonts of the browser
			slowest = form
		}
	}
	if slowest.MS > 200 {
		t.Errorf("the form of %s took %.0f ms, want at most 200", slowest.ID, slowest.MS)
	}
	t.Logf("%d forms, the slowest took %.0f ms: %s", len(lines)-1, slowest.MS, slowest.ID)
	return len(lines) - 1
}

func TestFormsOfEachKindOfSchemaSendValidValues(t *testing.T) {
	t.Parallel()
	if n := fillForms(t, absolute(t, "page/kinds.jsonl")); n < 30 {
		t.Errorf("there are %d schemas", n)
	}
}

// The tools of all servers of the layer.
func TestFormsOfRealServersSendValidValues(t *testing.T) {
	t.Parallel()
	junction(t)
	var lines strings.Builder
	tools := 0
	for _, server := range realServers(t) {
		if slices.Contains([]string{"mysql", "fastmcphttp", "fastmcpsse"}, server.name) {
			continue // needs a database; the same tools as fastmcp
		}
		var listed listToolsResult
		command(t, server.started(t), &listed, "tools")
		for _, tool := range listed.Tools {
			lines.WriteString(encode(t, map[string]any{"id": server.name + " " + tool.Name, "schema": tool.InputSchema}) + "\n")
			tools++
		}
	}
	file := filepath.Join(t.TempDir(), "tools.jsonl")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := fillForms(t, file); n != tools || n < 60 {
		t.Errorf("there are %d forms of %d tools", n, tools)
	}
}

// FORM_SCHEMAS is a folder whose *.jsonl have an object with id and schema, or input_schema, in each line.
func TestFormsOfAFolderOfSchemasSendValidValues(t *testing.T) {
	folder := os.Getenv("FORM_SCHEMAS")
	if folder == "" {
		t.Skip("skip: FORM_SCHEMAS names no folder with schemas")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no *.jsonl in %s: %v", folder, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			n := 0
			for lines := range slices.Chunk(strings.SplitAfter(string(data), "\n"), 400) { // as a command gets two minutes
				part := filepath.Join(t.TempDir(), "part.jsonl")
				if err := os.WriteFile(part, []byte(strings.Join(lines, "")), 0o600); err != nil {
					t.Fatal(err)
				}
				n += fillForms(t, part)
			}
			t.Logf("%d forms", n)
		})
	}
}

// What forms do for a person: page/behave.mjs has the cases.
func TestFormsForAUser(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(run(t, nodeEnv(t), formScript(t, "behave.mjs")...)), "\n")
	if len(lines) < 100 {
		t.Errorf("only %d cases ran", len(lines))
	}
	for _, line := range lines {
		var one struct{ What, Fault string }
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %.500s", err, line)
		}
		t.Run(one.What, func(t *testing.T) {
			if one.Fault != "" {
				t.Error(one.Fault)
			}
		})
	}
}
