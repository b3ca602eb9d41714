package cases

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAWrongFileIsRefusedWithItsLine(t *testing.T) {
	const head = "server: x\ncases:\n"
	for name, test := range map[string]struct{ text, want string }{
		"nothing":               {"", "it is empty"},
		"no YAML":               {"server: [", "line 1: "},
		"two documents":         {head + "- {case: a, tool: b}\n---\nx: 1\n", "there is text after the first document"},
		"unknown member":        {"server: x\ncase: []\n", `line 2: the file has no member "case"; did you mean "cases"?`},
		"no cases":              {"server: x\n", "cases: expected a list"},
		"unknown in a case":     {head + "- case: a\n  tool: b\n  argments: {}\n", `line 5: the case has no member "argments"; did you mean "arguments"?`},
		"unknown in a step":     {head + "- case: a\n  steps:\n  - tool: b\n    answers: {}\n", `line 6: the step has no member "answers"`},
		"unknown expectation":   {head + "- {case: a, tool: b, expect: {texts: x}}\n", `line 3: expect has no member "texts"; did you mean "text"?`},
		"twice":                 {head + "- {case: a, tool: b}\n- {case: A!, tool: b}\n", `line 4: case "A!": the case on line 3 has the same name, or a name that gives the same file name`},
		"a member twice":        {head + "- {case: a, case: b, tool: b}\n", `line 3: the case has "case" twice`},
		"no name":               {head + "- {tool: b}\n", "line 3: the case has no name"},
		"no request":            {head + "- {case: a}\n", "line 3: expected one of tool, read, prompt, list, complete and request, got 0"},
		"two requests":          {head + "- {case: a, tool: b, read: 'x://y'}\n", "got 2"},
		"steps and a step":      {head + "- {case: a, tool: b, steps: [{tool: b}]}\n", `line 3: the case "a" has steps, and is a step itself`},
		"an object":             {head + "- case: a\n  tool: b\n  expect:\n    structured: {sum: 3}\n", `line 6: a condition (write an object to compare with under equals or contains) has no member "sum"`},
		"arguments of a list":   {head + "- {case: a, list: tools, arguments: {}}\n", "line 3: arguments does not go with this"},
		"params of a tool":      {head + "- {case: a, tool: b, params: {}}\n", "line 3: params does not go with this"},
		"arguments are a list":  {head + "- {case: a, tool: b, arguments: [1]}\n", "line 3: arguments: expected a mapping"},
		"no list":               {head + "- {case: a, list: tasks}\n", "line 3: list: expected tools, prompts, resources, resourceTemplates, got"},
		"structured of a read":  {head + "- {case: a, read: 'x://y', expect: {structured: 1}}\n", "line 3: structured and isError are for results of tools"},
		"text of a list":        {head + "- {case: a, list: tools, expect: {text: a}}\n", "line 3: text is for results of tool, read and prompt"},
		"error and text":        {head + "- {case: a, tool: b, expect: {text: a, error: {}}}\n", "line 3: an error has no result"},
		"regular expression":    {head + "- {case: a, tool: b, expect: {text: {matches: '('}}}\n", "line 3: error parsing regexp"},
		"pointer":               {head + "- {case: a, tool: b, expect: {result: {at: {sum: 3}}}}\n", `line 3: "sum" is not a path`},
		"time":                  {head + "- {case: a, tool: b, expect: {within: soon}}\n", "line 3: expected a time, such as 500ms or 2s"},
		"revision":              {head + "- {case: a, tool: b, revisions: [2020-01-01]}\n", `line 3: there is no revision "2020-01-01"`},
		"transport":             {"server: x\ntransports: tcp\ncases: [{case: a, tool: b}]\n", `line 2: there is no transport "tcp"`},
		"capability":            {"server: x\ncapabilities: [teleport]\ncases: [{case: a, tool: b}]\n", `line 2: capabilities: there is no "teleport"`},
		"each":                  {"each: step\ncases: [{case: a, tool: b}]\n", "each: expected case"},
		"command as text":       {"server: {command: node x.js}\ncases: [{case: a, tool: b}]\n", "line 1: command: expected a list"},
		"command and recording": {"server: {command: [a], recording: b}\ncases: [{case: a, tool: b}]\n", "line 1: server: expected a name or URL, or one of command and recording"},
		"nothing captured":      {head + "- {case: a, tool: '{{id}}'}\n", "line 3: nothing before this captures {{id}}"},
		"captured elsewhere":    {head + "- {case: a, tool: b, capture: {id: /x}}\n- {case: c, tool: b, arguments: {x: 'n{{id}}'}}\n", "line 4: nothing before this captures {{id}}"},
		"capture without path":  {head + "- {case: a, tool: b, capture: {id: {matches: x}}}\n", "line 3: capture: at is missing"},
		"capture of dir":        {head + "- {case: a, tool: b, capture: {dir: /x}}\n", `line 3: capture: "dir" is not a valid name`},
		"mask of nothing":       {head + "- {case: a, tool: b, expect: {snapshot: true, mask: 'x*'}}\n", "line 3: mask: x* matches the empty text"},
		"answer":                {head + "- {case: a, tool: b, answers: {elicit: maybe}}\n", `line 3: elicit: expected accept, decline, cancel`},
		"alias":                 {"server: &s x\ncases:\n- {case: a, tool: b, arguments: {x: *s}}\n", "line 3: aliases (*) are not supported"},
		"no number":             {head + "- {case: a, tool: b, arguments: {x: .inf}}\n", "line 3: .inf is not a JSON number"},
		"complete":              {head + "- {case: a, complete: {prompt: p}}\n", "line 3: complete: expected one of prompt and template, and argument and value"},
		"changed":               {head + "- {case: a, tool: b, expect: {notifications: [{changed: roots}]}}\n", "line 3: changed: expected tools, prompts, resources, got"},
		"deep":                  {head + "- {case: a, tool: b, arguments: " + strings.Repeat("{a: ", 200) + "1" + strings.Repeat("}", 201) + "\n", "line 3: it is nested deeper than 100"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("x.yaml", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestAnArchiveHasItsOwnLinesAndItsFilesStayInTheFolder(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"the line":    {"About it.\n-- a.txt --\none\ntwo\n-- cases.yaml --\nserver: x\ncases:\n- {tool: b}\n", "line 8: the case has no name"},
		"YAML's line": {"-- a.txt --\none\n-- cases.yaml --\nserver: x\ncases: [\n", "line 5: "},
		"no cases":    {"-- a.txt --\none\n", "the archive has no -- cases.yaml --"},
		"outside":     {"-- ../a.txt --\none\n-- cases.yaml --\n", `line 1: "../a.txt" is not a name within the server's folder`},
		"twice":       {"-- cases.yaml --\n-- cases.yaml --\n", "line 2: cases.yaml occurs twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse("x.txtar", []byte(test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestFilesOfAnArchiveAreInTheFolderOfTheServer(t *testing.T) {
	f, err := parse("x.txtar", []byte("-- a/b.txt --\none\n-- cases.yaml --\nserver: x\ncases: [{case: a, tool: b}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir, remove, err := f.folder()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "a", "b.txt"))
	if err != nil || string(text) != "one\n" {
		t.Errorf("got %q, %v", text, err)
	}
	if err := remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestFilesOfCasesAreFound(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yml", "c.txtar", "d.json", "a.snapshots/x.yaml", ".hidden/x.yaml", "sub/e.yaml", "node_modules/x.yaml"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Find([]string{dir, filepath.Join(dir, "d.json")})
	for i := range found {
		found[i], _ = filepath.Rel(dir, found[i])
	}
	if want := "a.yaml b.yml c.txtar sub/e.yaml d.json"; err != nil || filepath.ToSlash(strings.Join(found, " ")) != want {
		t.Errorf("got %q, %v", found, err)
	}
	if _, err := Find([]string{filepath.Join(dir, "node_modules", "none")}); err == nil {
		t.Error("a path that is not there is no error")
	}
	if _, err := Find([]string{t.TempDir()}); err == nil || !strings.Contains(err.Error(), "there is no file with cases") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestConditions(t *testing.T) {
	const got = `{"sum": 3.0, "name": "Ada Lovelace", "tags": ["a", {"b": 1, "c": 2}], "none": null, "big": 9007199254740993, "said": "HTTP 500: true is 1234"}`
	for text, want := range map[string]string{
		"{equals: {sum: 3, name: Ada Lovelace, tags: [a, {c: 2, b: 1.0}], none: null, big: 9007199254740993, said: 'HTTP 500: true is 1234'}}": "",
		"{contains: {tags: [{b: 1}], sum: 3}}":                       "",
		"{contains: {name: Ada}}":                                    "it: expected it to contain {\"name\":\"Ada\"}",
		"{lacks: {name: Grace}}":                                     "",
		"{lacks: {tags: a}}":                                         "it: expected it not to contain {\"tags\":\"a\"}",
		"{at: {/sum: 3}}":                                            "",
		"{at: {/big: 9007199254740992}}":                             "it at /big: expected 9007199254740992, got 9007199254740993",
		"{at: {/name: Ada}}":                                         `it at /name: expected "Ada", got "Ada Lovelace"`,
		"{at: {/name: {contains: Ada, matches: '^Ada .{8}$'}}}":      "",
		"{at: {/name: {contains: [Ada, Love]}}}":                     "",
		"{at: {/name: {contains: [Ada, Grace]}}}":                    `it at /name: expected it to contain ["Ada","Grace"]`,
		"{at: {/name: {lacks: Ada}}}":                                `it at /name: expected it not to contain "Ada"`,
		"{at: {/name: {lacks: [Eve, Grace]}}}":                       "",
		"{at: {/name: {lacks: [Ada, Grace]}}}":                       `it at /name: expected it not to contain "Ada"`,
		"{at: {/name: {lacks: [Love, Ada]}}}":                        `it at /name: expected it not to contain "Love";it at /name: expected it not to contain "Ada"`,
		"{at: {/tags: {lacks: [z, {b: 1}]}}}":                        `it at /tags: expected it not to contain {"b":1}`,
		"{at: {/tags: {lacks: [z, {b: 2}]}}}":                        "",
		"{at: {/said: {lacks: 1234}}}":                               `it at /said: expected it not to contain 1234`,
		"{at: {/said: {lacks: [500, true, null]}}}":                  `it at /said: expected it not to contain 500;it at /said: expected it not to contain true`,
		"{at: {/said: {lacks: [[5, HTTP]]}}}":                        `it at /said: expected it not to contain 5;it at /said: expected it not to contain "HTTP"`,
		"{at: {/said: {lacks: [404, false]}}}":                       "",
		"{at: {/said: {lacks: {a: b}}}}":                             `it at /said: lacks: expected a part of a text, which the object {"a":"b"} cannot be`,
		"{at: {/said: {contains: [500, true]}}}":                     "",
		"{at: {/said: {contains: {a: b}}}}":                          `it at /said: expected it to contain {"a":"b"}`,
		"{at: {/name: {matches: '^B'}}}":                             "it at /name: expected it to match ^B",
		"{at: {/name: {matches: 'a{{n}}e'}}}":                        "it at /name: expected it to match a{{n}}e",
		"{at: {/tags/1/b: 1, /tags/0: a}}":                           "",
		"{at: {/tags: {contains: [{c: 2}, a]}}}":                     "",
		"{at: {/tags: {contains: a}}}":                               "",
		"{at: {/tags: {lacks: z}}}":                                  "",
		"{at: {/tags/2: {absent: true}, /x: {absent: true}}}":        "",
		"{at: {/tags/01: a}}":                                        "it at /tags/01: there is nothing",
		"{at: {/sum: {absent: true}}}":                               "it at /sum: expected nothing, got 3.0",
		"{at: {/none: null}}":                                        "",
		"{at: {/x: null}}":                                           "it at /x: there is nothing",
		"{at: {/none: {}, /sum: {}}}":                                "",
		"{at: {/x: {}}}":                                             "it at /x: there is nothing",
		"{at: {/none: {equals: {}}}}":                                "it at /none: expected {}, got null",
		"{at: {/sum: {matches: '^3'}, /none: {at: {/x: 1}}}}":        "it at /none at /x: there is nothing",
		"{at: {/sum: {at: {/x: 1}}, /tags/1: {at: {/b: 2, /c: 3}}}}": "it at /sum at /x: there is nothing;it at /tags/1 at /b: expected 2, got 1;it at /tags/1 at /c: expected 3, got 2",
	} {
		t.Run(text, func(t *testing.T) {
			p := &parser{known: map[string]bool{"n": true}}
			n, err := p.document([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			var c condition
			if err := p.condition(&c)(n); err != nil {
				t.Fatal(err)
			}
			value, err := decode([]byte(got))
			if err != nil {
				t.Fatal(err)
			}
			faults := c.check("it", value, true, vars{"n": "."})
			for i := range faults {
				faults[i], _, _ = strings.Cut(faults[i], "\n")
			}
			if said := strings.Join(faults, ";"); said != want {
				t.Errorf("got %q, want %q", said, want)
			}
		})
	}
}

func TestPlaceholdersKeepTheirType(t *testing.T) {
	v := vars{"id": json.Number("7"), "o": map[string]any{"a": true}, "t": "x"}
	got := v.fill(map[string]any{"id": "{{id}}", "text": "n{{id}}-{{t}}{{o}}", "list": []any{"{{o}}"}, "other": "{{secret-1}} {{ t }}"})
	want := map[string]any{"id": json.Number("7"), "text": `n7-x{"a":true}`, "list": []any{map[string]any{"a": true}}, "other": "{{secret-1}} {{ t }}"}
	if !equal(got, want) {
		t.Errorf("got %s, want %s", short(got), short(want))
	}
}

func TestVaryingValuesAreMasked(t *testing.T) {
	p := &parser{}
	n, err := p.document([]byte(`[/items/*/id, '\d\d:\d\d', /at]`))
	if err != nil {
		t.Fatal(err)
	}
	var masks []mask
	if err := p.masks(&masks)(n); err != nil {
		t.Fatal(err)
	}
	value, err := decode([]byte(`{"items": [{"id": 5, "x": "see 12:30"}, {"id": 6}, {"id": 5}], "at": {"a": 1}, "text": "12:30, then 12:31 in /tmp/d/file and /tmp/d/sub", "empty": ""}`))
	if err != nil {
		t.Fatal(err)
	}
	got := short(newMasking(masks, vars{placeDir: "/tmp/d/sub", placeHere: "/tmp/d"}).apply(value))
	want := `{"at":"{{masked}}","empty":"","items":[{"id":"{{masked}}","x":"see {{masked}}"},{"id":"{{masked}}"},{"id":"{{masked}}"}],"text":"{{masked}}, then {{masked}} in {{here}}/file and {{dir}}"}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// FuzzParse parses arbitrary files, in both formats.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"server: x\ncases:\n- {case: a, tool: b, arguments: {x: 1}, expect: snapshot}\n",
		"server: {command: [a, '{{dir}}'], env: {A: b}}\neach: case\nanswers: {elicit: [decline, {accept: {a: 1}}], sample: hi, roots: /}\nmask: [/a/*, x+]\ncases:\n- case: a\n  steps:\n  - {read: 'x://y', capture: {id: {at: /a, matches: b}}}\n  - {prompt: p, arguments: {a: '{{id}}'}, expect: {text: {matches: '{{id}}'}, notifications: [{progress: null}, {log: {at: {/level: info}}}, {changed: tools}, {updated: 'x://y'}], asked: [{elicit: null}]}}\n",
		"-- a.txt --\nx\n-- cases.yaml --\nserver: x\ncases: [{case: a, request: ping, params: {}}]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"x.yaml", "x.txtar"} {
			file, err := parse(name, text)
			if err == nil && len(file.cases) == 0 {
				t.Error("a file without cases was read")
			}
		}
	})
}

// FuzzSnapshot writes values as snapshots, and reads them again.
func FuzzSnapshot(f *testing.F) {
	for _, seed := range []string{`{"a": [1, 2.50, -0, 1e3, true, null, "x", "1", "null", "a\nb", " a\nb\n\n", "\u0000\u2028", "~", "2020-01-01", "- a", "#", "<<"], "<<": 1, "": {}, "[]": []}`, `"a: b"`, `"\ta\n\tb"`, `"a\r\nb"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		want, err := decode(raw)
		if err != nil || !json.Valid(raw) || len(raw) > 10_000 {
			return
		}
		text := toYAML(want)
		p := &parser{}
		n, err := p.document([]byte(text))
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		got, err := p.value(n)
		if err != nil && strings.Contains(err.Error(), "nested deeper") {
			return
		}
		if err != nil || !equal(got, want) {
			t.Fatalf("got %s, %v, want %s from\n%s", short(got), err, short(want), text)
		}
	})
}
