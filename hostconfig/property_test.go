package hostconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

// A writer writes a random file of one syntax.
type writer struct {
	*rand.Rand
	b strings.Builder
}

func (w *writer) one(words ...string) string { return words[w.IntN(len(words))] }

var someTexts = []string{"npx", "-y", "a b", "", "C:\\x\\y.exe", "it's \"quoted\"", "é ✓ 😀", "${env:X}", "# no comment", "// none", "a: b", "{x}", "[1]", "true", "12", "tab\there", "- x", "~", "*a", "&b", "%c", "@d", "null", "a,b", "'", "\u00a0", "\u2028x"}

func (w *writer) text() string { return w.one(someTexts...) }

func (w *writer) quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// blank returns white space between two tokens of JSON.
func (w *writer) blank() string {
	return w.one("", "", " ", "  ", "\n", "\r\n\t", "\n    ", " /* c, \" } */ ", " // c } \"\n  ")
}

func (w *writer) jsonObject(members ...[2]string) string {
	w.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	var b strings.Builder
	b.WriteString("{" + w.blank())
	for i, m := range members {
		if i > 0 {
			b.WriteString("," + w.blank())
		}
		b.WriteString(w.quoted(m[0]) + w.blank() + ":" + w.blank() + m[1] + w.blank())
	}
	if len(members) > 0 && w.IntN(3) == 0 {
		b.WriteString("," + w.blank())
	}
	return b.String() + "}"
}

func (w *writer) jsonTexts() string {
	var list []string
	for range w.IntN(4) {
		list = append(list, w.blank()+w.quoted(w.text())+w.blank())
	}
	return "[" + w.blank() + strings.Join(list, ",") + "]"
}

func (w *writer) json() string {
	var entries [][2]string
	for i := range w.IntN(4) {
		members := [][2]string{}
		if w.IntN(2) == 0 {
			members = append(members, [2]string{"command", w.quoted(w.text() + "x")})
			if w.IntN(3) > 0 {
				members = append(members, [2]string{"args", w.jsonTexts()})
			}
		} else {
			members = append(members, [2]string{w.one("url", "serverUrl", "httpUrl"), w.quoted("https://x.example/" + w.text())})
			if w.IntN(2) == 0 {
				members = append(members, [2]string{"headers", w.jsonObject([2]string{"A", w.quoted(w.text())}, [2]string{"B-C", w.quoted(w.text())})})
			}
		}
		for _, extra := range [][2]string{{"env", w.jsonObject([2]string{"K", w.quoted(w.text())})}, {"type", `"sse"`}, {"x", w.one("1.50", "null", "[[]]", "{}")}} {
			if w.IntN(2) == 0 {
				members = append(members, extra)
			}
		}
		entries = append(entries, [2]string{fmt.Sprint(w.text(), i), w.jsonObject(members...)})
	}
	return w.one("", byteOrderMark) + w.blank() + w.jsonObject([2]string{"mcpServers", w.jsonObject(entries...)}, [2]string{"z", w.jsonTexts()}) + w.blank()
}

// yamlText returns a text in one of its YAML forms.
func (w *writer) yamlText(s string) string {
	for range 5 {
		tried := w.one(s, "'"+strings.ReplaceAll(s, "'", "''")+"'", w.quoted(s))
		var back any
		if yaml.Unmarshal([]byte("a: "+tried+"\n"), &back) == nil {
			if m, ok := back.(map[string]any); ok && m["a"] == s && len(m) == 1 {
				return tried
			}
		}
	}
	return w.quoted(s)
}

func (w *writer) yaml() string {
	b := &w.b
	comment := func() string { return w.one("", "", " # c: d", "\n# at the side", "\n") }
	fmt.Fprintf(b, "name: x%s\nmcpServers:%s\n", comment(), comment())
	indent := w.one("", "  ", "    ")
	for i := range 1 + w.IntN(3) {
		pad := indent + "  "
		lines := []string{"name: " + w.yamlText(fmt.Sprint(w.text(), i))}
		if w.IntN(2) == 0 {
			lines = append(lines, "command: "+w.yamlText(w.text()+"x"))
			switch w.IntN(3) {
			case 0:
				lines = append(lines, "args: ["+w.quoted(w.text())+", "+w.quoted(w.text())+"]")
			case 1:
				inner := w.one("", "  ")
				lines = append(lines, "args:\n"+pad+inner+"- "+w.yamlText(w.text())+w.one("", " # c: d")+"\n"+pad+inner+"- "+w.yamlText(w.text()))
			}
		} else {
			lines = append(lines, "url: "+w.yamlText("https://x.example/"+w.text()))
			if w.IntN(2) == 0 {
				lines = append(lines, "requestOptions:\n"+pad+"  headers:\n"+pad+"    A: "+w.yamlText(w.text()))
			}
		}
		if w.IntN(2) == 0 {
			lines = append(lines, "env:\n"+pad+"  K: "+w.yamlText(w.text()))
		}
		if w.IntN(2) == 0 {
			lines = append(lines, "description: |\n"+pad+"  text: of\n\n"+pad+"  lines # no comment")
		}
		w.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		for j, line := range lines {
			b.WriteString(map[bool]string{true: indent + "- ", false: pad}[j == 0] + line)
			if !strings.HasPrefix(line, "description") {
				b.WriteString(comment())
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("z: [1, {a: b}]" + w.one("", "\n"))
	return b.String()
}

func (w *writer) toml() string {
	b := &w.b
	comment := func() string { return w.one("", "", " # c = d", "\n# at the side", "\n") }
	fmt.Fprintf(b, "model = 'x'%s\n", comment())
	for i := range 1 + w.IntN(3) {
		name := w.one(fmt.Sprint("s", i), w.quoted(fmt.Sprint("with . and é", i)))
		pad := w.one("", "  ", "\t")
		inline := w.IntN(3) == 0
		var lines []string
		tables := ""
		if w.IntN(2) == 0 {
			lines = append(lines, "command = "+w.quoted(w.text()+"x"))
			if w.IntN(3) > 0 {
				lines = append(lines, "args = ["+w.quoted(w.text())+","+w.quoted(w.text())+"]")
			}
			tables = "[mcp_servers." + name + ".env]\n" + pad + "K = " + w.quoted(w.text()) + "\n"
		} else {
			lines = append(lines, "url = "+w.quoted("https://x.example/"+w.text()))
			if w.IntN(2) == 0 {
				lines = append(lines, `bearer_token_env_var = "V"`)
			}
			if w.IntN(2) == 0 {
				lines = append(lines, "http_headers = { A = "+w.quoted(w.text())+", \"B\" = 'x' }")
			} else {
				tables = "[mcp_servers." + name + ".http_headers]\n" + pad + "A = " + w.quoted(w.text()) + w.one("", " # c = d") + "\n"
			}
		}
		lines = append(lines, "startup_timeout_sec = 1_0.5")
		w.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		if inline {
			fmt.Fprintf(b, "[mcp_servers]\n%s%s = {%s}\n", pad, name, strings.Join(lines, w.one(",", ", ")))
			return b.String() // the table is closed
		}
		fmt.Fprintf(b, "[ mcp_servers . %s ]%s\n", name, comment())
		for _, line := range lines {
			b.WriteString(pad + line + comment() + "\n")
		}
		if w.IntN(2) == 0 {
			b.WriteString(tables)
		}
	}
	b.WriteString("[z]\nwhen = 2026-01-02\n[[y]]\na = 1\n[[y]]" + w.one("", "\n"))
	return b.String()
}

// errRefused is for unusual files: it is not a fault if they cannot be changed.
var errRefused = errors.New("it is refused")

// roundTrip replaces all entries of a file and restores them as in a changed file. The content must
// be the same as before, and the same bytes if the whole file was kept.
func roundTrip(h Host, path string, data []byte) error {
	before, err := Parse(h, path, data)
	if err != nil {
		return nil // there is nothing to change
	}
	by := map[*Entry]Program{}
	for _, e := range before.Entries {
		if e.Problem == nil {
			by[e] = tapped(e)
		}
	}
	after, changes, err := before.Replace(by)
	if err != nil {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	d, err := Parse(h, path, after)
	if err != nil {
		return fmt.Errorf("it cannot be read then: %w", err)
	}
	now, left, err := restored(before, d, d, changes)
	if err != nil || len(left) > 0 {
		return fmt.Errorf("%w: it cannot be put back: %v %q\n%s", errRefused, err, left, after)
	}
	back, err := Parse(h, path, now)
	if err != nil || !same(back.root, before.root) {
		return fmt.Errorf("it is not the same then: %v\n%s\nby way of\n%s", err, now, after)
	}
	if len(by) == 0 && !bytes.Equal(after, data) {
		return fmt.Errorf("it was changed: %s", after)
	}
	if a, b := outside(before), outside(d); a != b { // comments, order and indentation
		return fmt.Errorf("outside of its entries it was\n%s\nand is\n%s", a, b)
	}
	if word := []byte("# at the side"); before.syntax != inJSON && bytes.Count(now, word) != bytes.Count(data, word) {
		return fmt.Errorf("a comment is lost: %s", after)
	}
	return nil
}

// outside returns everything outside the entries of a JSON file.
func outside(d *Document) string {
	if d.syntax != inJSON {
		return ""
	}
	var b strings.Builder
	done := 0
	for _, e := range d.Entries {
		b.Write(d.Data[done:e.full.start])
		done = e.full.end
	}
	b.Write(d.Data[done:])
	return b.String()
}

// A made is a generated file of a host.
type made struct {
	host       Host
	path, data string
	round      int
}

// generated returns 3,000 files that depend only on the seed.
func generated(seed uint64) iter.Seq[made] {
	return func(yield func(made) bool) {
		for i := range 1_000 {
			for _, m := range []struct {
				host, path string
				data       func(*writer) string
			}{{"cursor", "mcp.json", (*writer).json}, {"continue", "config.yaml", (*writer).yaml}, {"codex", "config.toml", (*writer).toml}} {
				h, _, _ := LookupHost(m.host)
				data := m.data(&writer{Rand: rand.New(rand.NewPCG(uint64(i), seed))})
				if i%2 == 1 && m.path != "mcp.json" {
					data = crlf(data)
				}
				if !yield(made{h, m.path, data, i}) {
					return
				}
			}
		}
	}
}

func TestGeneratedFilesAreChangedAndPutBack(t *testing.T) {
	refused := 0
	for made := range generated(1) {
		if made.path == "config.yaml" && yaml.Unmarshal([]byte(made.data), new(any)) != nil || made.path == "config.toml" && toml.Unmarshal([]byte(made.data), new(map[string]any)) != nil {
			t.Fatalf("round %d made no such file:\n%s", made.round, made.data)
		}
		if d, err := Parse(made.host, made.path, []byte(made.data)); err != nil {
			t.Fatalf("round %d cannot be read: %v\n%s", made.round, err, made.data)
		} else if len(d.Entries) == 0 && made.path != "mcp.json" {
			t.Fatalf("round %d has no entries\n%s", made.round, made.data)
		}
		if err := roundTrip(made.host, made.path, []byte(made.data)); err != nil {
			if refused++; refused > 3 {
				t.FailNow()
			}
			t.Errorf("round %d of %s: %v\nof\n%s", made.round, made.path, err, made.data)
		}
	}
}

func fuzzEditor(f *testing.F, host, path string, holds func(h Host, path string, data []byte) error) {
	h, _, _ := LookupHost(host)
	for _, s := range samples {
		if s.host == host {
			f.Add([]byte(s.data))
		}
	}
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := holds(h, path, data); err != nil && !errors.Is(err, errRefused) {
			t.Error(err)
		}
	})
}

func FuzzJSON(f *testing.F) { fuzzEditor(f, "cursor", "mcp.json", roundTrip) }
func FuzzYAML(f *testing.F) { fuzzEditor(f, "continue", "config.yaml", roundTrip) }
func FuzzTOML(f *testing.F) { fuzzEditor(f, "codex", "config.toml", roundTrip) }
