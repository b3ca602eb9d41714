package install

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/junction-mcp/junction/internal/runner"
)

func TestAboutOfPackages(t *testing.T) {
	const manifest = `{"license":"MIT","description":"Counts.","homepage":"https://a.example","repository":{"url":"git+https://b.example/a.git"}}`
	const metadata = "Metadata-Version: 2.4\nName: acme-a\nSummary: Counts.\nLicense: UNKNOWN\nLicense-Expression: MIT\nProject-URL: Docs, https://d.example\nProject-URL: Source, https://b.example/a\n\n# Readme\n"
	for _, test := range []struct {
		p          Package
		file, text string
		want       About
	}{
		{Package{Type: NPM, Name: "@acme/a"}, "node_modules/@acme/a/package.json", manifest, About{Licence: "MIT", Source: "git+https://b.example/a.git", Description: "Counts."}},
		{Package{Type: NPM, Name: "@acme/a"}, "node_modules/b/package.json", manifest, About{}},
		{Package{Type: Folder, Name: "/a"}, "package.json", `{"license":{"type":"MIT"},"homepage":"https://a.example"}`, About{Source: "https://a.example"}},
		{Package{Type: Folder, Name: "/a"}, "package.json", `[]`, About{}},
		{Package{Type: PyPI, Name: "Acme.A[extra]"}, "venv/lib/python3.13/site-packages/acme_a-1.0.dist-info/METADATA", metadata, About{Licence: "MIT", Source: "https://b.example/a", Description: "Counts.", Readme: "# Readme\n"}},
		{Package{Type: PyPI, Name: "acme"}, "lib/python3.13/site-packages/acme_a-1.0.dist-info/METADATA", metadata, About{}},
		{Package{Type: Cargo, Name: "a"}, "package.json", manifest, About{}},
		{Package{Type: "gem", Name: "a"}, "package.json", manifest, About{}},
	} {
		dir := filepath.Join(t.TempDir(), "[a]") // a pattern must not match another folder
		file := filepath.Join(dir, filepath.FromSlash(test.file))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := AboutOf(&Locked{Package: test.p}, dir); got != test.want {
			t.Errorf("%s %s, %s: %+v, want %+v", test.p.Type, test.p.Name, test.file, got, test.want)
		}
	}
}

func TestEachKindHasARow(t *testing.T) {
	s := newStore(t)
	for _, k := range runner.Kinds() {
		if _, err := s.kindOf(Package{Type: k.Type, Name: "a"}); err != nil {
			t.Errorf("%s: %v", k.Type, err)
		}
	}
	if len(rows) != len(runner.Kinds()) {
		t.Errorf("%d rows for %d kinds", len(rows), len(runner.Kinds()))
	}
}
