package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/redact"
)

// redactFolder is the only folder with a table of tokens, a list of names of secrets, and a walk
// over JSON that hides them.
const redactFolder = "internal/redact"

// otherNames lists files with lists of such names that hide nothing.
var otherNames = []string{
	"guard/parameters.go", // data that a form must not request, in the words of its text
}

func TestSecretsAreKnownInOnePlace(t *testing.T) {
	begins := tokenStart()
	for _, s := range sources(t) {
		if !s.inModule() || s.isTest || below(s.path, redactFolder) {
			continue
		}
		for _, found := range secretsOf(s.file, begins) {
			if found.names && slices.Contains(otherNames, s.path) {
				continue
			}
			t.Errorf("%s: %s: it belongs to %s, for all who hide secrets", files.Position(found.at), found.what, redactFolder)
		}
	}
}

// A secretRule describes code that detects secrets itself.
type secretRule struct {
	at    token.Pos
	what  string
	names bool
}

func secretsOf(file *ast.File, begins *regexp.Regexp) (all []secretRule) {
	imports := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(module+"/"+redactFolder) })
	walks, writes := false, false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if n.Kind != token.STRING || err != nil {
				return true
			}
			if begins.MatchString(text) {
				all = append(all, secretRule{n.Pos(), "a token: " + text, false})
			}
			if strings.Contains(text, "|") && countNames(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("()|:", r) })) >= 3 {
				all = append(all, secretRule{n.Pos(), "names of secrets: " + text, true})
			}
		case *ast.CompositeLit:
			var texts []string
			for _, e := range n.Elts {
				if pair, is := e.(*ast.KeyValueExpr); is {
					e = pair.Key
				}
				if lit, is := e.(*ast.BasicLit); is {
					text, _ := strconv.Unquote(lit.Value)
					texts = append(texts, text)
				}
			}
			if countNames(texts) >= 3 {
				all = append(all, secretRule{n.Pos(), "a list of names of secrets", true})
			}
		case *ast.SelectorExpr:
			if x, is := n.X.(*ast.Ident); is && imports && x.Name == "jsonrpc" {
				walks, writes = walks || n.Sel.Name == "SkipValue", writes || strings.HasPrefix(n.Sel.Name, "Append") || strings.HasPrefix(n.Sel.Name, "New")
			}
		}
		return true
	})
	if walks && writes {
		all = append(all, secretRule{file.Pos(), "a walk over JSON that hides secrets", false})
	}
	return all
}

// tokenStart matches the beginning of a token, unless it is that of a longer word.
func tokenStart() *regexp.Regexp {
	var starts []string
	for _, t := range redact.Tokens() {
		for _, start := range slices.Concat(t.Starts, t.Sure, t.Nearly) {
			starts = append(starts, regexp.QuoteMeta(start))
		}
	}
	return regexp.MustCompile(`(?:^|\W|\\b)(?:` + strings.Join(starts, "|") + `)(?:$|[^\w.])`)
}

// countNames returns the number of names of secrets among texts.
func countNames(texts []string) (n int) {
	for _, text := range texts {
		letters := strings.Map(func(r rune) rune {
			if r < 'a' || r > 'z' {
				return -1
			}
			return r
		}, strings.ToLower(text))
		if slices.Contains(redact.Endings(), letters) || letters == "token" {
			n++
		}
	}
	return n
}

func TestSecretsThatAFileKnowsAreFound(t *testing.T) {
	for source, want := range map[string]string{
		"var a = regexp.MustCompile(`\\b" + "gh" + "o_[a-z]+`)":                 "a token",
		`var a = "` + "gl" + `pat-"`:                                            "a token",
		`var a = "npm_config_registry"`:                                         "",
		`var a = []string{"password", "secret", "api_key", "x"}`:                "a list of names of secrets",
		`var a = map[string]bool{"password": true, "pwd": true, "dsn": true}`:   "a list of names of secrets",
		`var a = "(?i)(?:password|secret|token)"`:                               "names of secrets",
		`var a = []string{"password", "user"}`:                                  "",
		`func f() { jsonrpc.SkipValue(nil, 0) }`:                                "",
		`func f() { jsonrpc.SkipValue(nil, 0); jsonrpc.AppendString(nil, "") }`: "a walk over JSON",
	} {
		file, err := parser.ParseFile(files, "x.go", "package p\nimport \""+module+"/"+redactFolder+"\"\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := secretsOf(file, tokenStart())
		if (len(found) > 0) != (want != "") || want != "" && !strings.HasPrefix(found[0].what, want) {
			t.Errorf("%s: %v, want %q", source, found, want)
		}
	}
}
