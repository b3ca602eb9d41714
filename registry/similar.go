package registry

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/runner"
)

const (
	// maxLikenesses is the largest number of better known names that are reported for a name.
	maxLikenesses = 5
	// maxCompared is the largest length in bytes of a name that is compared.
	maxCompared = 200
	// maxNamesakes limits how many owners may share a name after the slash, such as "mcp-server". A
	// name with that many owners is generic.
	maxNamesakes = 4
	// shortName is the maximum length of names that may differ in only one letter. Names shorter
	// than minName may not differ at all.
	shortName = 9
	minName   = 5
)

// A Likeness is a better known name that can be confused with a given one.
type Likeness struct {
	Name string // the better known name
	Why  string // reason to show to users, such as "one letter differs"
}

// widelyUsed returns the names of widely used packages, of servers or of programs between client
// and server. They can be compared without a mirror. The list has the npm packages with 100,000
// downloads a month, and the PyPI packages among the 10,000 most downloaded ones. Both were counted
// in autumn 2026. It excludes names with fewer than minName letters of their own, which are not
// compared, and duckduckgo-mcp, which was renamed. It includes GitHub's image. It also includes
// Brave's own package, which has the same name as a listed one.
func widelyUsed() []string {
	return []string{
		"@playwright/mcp", "chrome-devtools-mcp", "@upstash/context7-mcp", "mcp-proxy", "@modelcontextprotocol/server-filesystem", "mcp-remote",
		"@modelcontextprotocol/inspector", "@modelcontextprotocol/server-sequential-thinking", "@azure-devops/mcp",
		"@supabase/mcp-server-supabase", "@modelcontextprotocol/server-github", "@modelcontextprotocol/server-memory",
		"@modelcontextprotocol/server-postgres", "@modelcontextprotocol/server-everything", "@notionhq/notion-mcp-server",
		"@modelcontextprotocol/server-google-maps", "@gongrzhe/server-gmail-autoauth-mcp", "@circleci/mcp-server-circleci", "next-devtools-mcp",
		"mongodb-mcp-server", "tavily-mcp", "@modelcontextprotocol/server-slack", "@zereight/mcp-gitlab", "firecrawl-mcp",
		"@testsprite/testsprite-mcp", "@wonderwhy-er/desktop-commander", "@salesforce/mcp", "@modelcontextprotocol/server-brave-search",
		"fastmcp", "fastapi-mcp", "mcp-server-qdrant", "mcp-proxy-for-aws", "mcp-server-git", "awslabs-aws-documentation-mcp-server",
		"mcp-server-fetch", "mcp-atlassian", "office-word-mcp-server", "databricks-mcp", "excel-mcp-server", "pdf-tools-mcp", "duckduckgo-mcp",
		"cli-mcp-server", "lean-lsp-mcp", "awslabs-bedrock-kb-retrieval-mcp-server", "awslabs-aws-api-mcp-server", "mcp-server-duckdb",
		"awslabs-aws-location-mcp-server", "awslabs-memcached-mcp-server", "office-powerpoint-mcp-server", "mcp-server-time",
		"awslabs-billing-cost-management-mcp-server", "workspace-mcp", "chroma-mcp", "awslabs-cloudwatch-mcp-server",
		"awslabs-aws-pricing-mcp-server", "snowflake-labs-mcp", "mcp-grafana", "mcp-clickhouse",
		"ghcr.io/github/github-mcp-server", "@brave/brave-search-mcp-server",
	}
}

// famous is the worth of these packages.
const famous = 1_000

// A fame is a name with measures of how well known it is.
type fame struct {
	name, owner, own string // owner and own are the parts before and after the last slash of name
	first            int64  // time of the first publication
	worth            int    // number of versions and of signs of maintenance
}

func fameOf(name string, first int64, worth int) fame {
	f := fame{name: name, own: name, first: first, worth: worth}
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 {
		f.owner, f.own = name[:slash], name[slash+1:]
	}
	return f
}

// Similar returns better known servers whose names differ by one or two letters, or have another
// owner only. A server is better known if it was published earlier and has more versions and signs
// of maintenance. If the mirror does not have the name, all servers in it are better known.
func (m *Mirror) Similar(ctx context.Context, name string) ([]Likeness, error) {
	all, err := m.fames(ctx, `SELECT name, first, versions + care FROM listed WHERE source IN (`+m.sources()+`)`)
	return similar(name, all), err
}

// SimilarPackage is like [Mirror.Similar] for a package of a registry type, such as npm. It
// compares the identifier with packages of servers in the mirror and with widely used packages.
func (m *Mirror) SimilarPackage(ctx context.Context, registryType, identifier string) ([]Likeness, error) {
	all, err := m.fames(ctx, `SELECT p.identifier, min(l.first), max(l.versions + l.care) FROM packages p JOIN listed l ON l.id = p.listed
		WHERE l.source IN (`+m.sources()+`) GROUP BY p.identifier`)
	return similarPackage(registryType, identifier, append(all, widelyUsedFames()...)), err
}

// SimilarKnown is like [Mirror.SimilarPackage], but without a mirror.
func SimilarKnown(registryType, identifier string) []Likeness {
	return similarPackage(registryType, identifier, widelyUsedFames())
}

// similarPackage compares names by the rules of a package registry. Some registries treat several
// spellings as the same name.
func similarPackage(registryType, identifier string, all []fame) []Likeness {
	canonical := runner.Of(registryType).Canonical
	if canonical == nil {
		return similar(identifier, all)
	}
	for i, f := range all {
		all[i] = fameOf(canonical(f.name), f.first, f.worth)
	}
	return similar(canonical(identifier), all)
}

func widelyUsedFames() []fame {
	var all []fame
	for _, name := range widelyUsed() {
		all = append(all, fameOf(name, 1, famous))
	}
	return all
}

// fames runs a query and returns its rows.
func (m *Mirror) fames(ctx context.Context, statement string) ([]fame, error) {
	var all []fame
	err := m.file.Read(ctx, "compare names", func(tx *sql.Tx) error {
		return each(ctx, tx, func(scan func(...any) error) error {
			var name string
			var first int64
			var worth int
			if err := scan(&name, &first, &worth); err != nil {
				return err
			}
			if len(name) <= maxCompared {
				all = append(all, fameOf(name, first, worth))
			}
			return nil
		}, statement)
	})
	return all, err
}

func similar(name string, all []fame) []Likeness {
	if len(name) > maxCompared {
		return nil
	}
	own := fameOf(name, 0, 0)
	known := false
	rivals := map[string]int{} // worth of the names with the same part after the slash, by owner
	for _, f := range all {
		if f.name == name {
			if !known || f.worth > own.worth {
				own = f
			}
			known = true
		}
		if strings.EqualFold(f.own, own.own) {
			rivals[f.owner] = max(rivals[f.owner], f.worth)
		}
	}
	var found []fame
	why := map[string]string{}
	for _, f := range all {
		better := !known || f.worth > own.worth && f.first < own.first
		if !better || f.name == name || why[f.name] != "" {
			continue
		}
		namesakes := 0 // number of owners whose name is about as well known, or better
		for _, worth := range rivals {
			if 2*worth >= f.worth {
				namesakes++
			}
		}
		if reason := looksLike(own, f, namesakes); reason != "" {
			why[f.name] = reason
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b fame) int { return cmp.Or(-cmp.Compare(a.worth, b.worth), cmp.Compare(a.name, b.name)) })
	var likenesses []Likeness
	for _, f := range found[:min(len(found), maxLikenesses)] {
		likenesses = append(likenesses, Likeness{f.name, why[f.name]})
	}
	return likenesses
}

// looksLike returns the reason why a can be confused with b, or "". Names of the same owner cannot
// be confused. Names without an owner share one namespace, so they are similar even if only one
// letter differs.
func looksLike(a, b fame, namesakes int) string {
	if a.owner != "" && strings.EqualFold(a.owner, b.owner) {
		return ""
	}
	switch differing(a.name, b.name) {
	case 0:
		return "only case, punctuation or the order of words differs"
	case 1:
		return "one letter differs"
	case 2:
		return "two letters differ"
	}
	if a.owner == "" || b.owner == "" || namesakes >= maxNamesakes || len(core(plainName(a.own))) < minName {
		return ""
	}
	switch differing(a.own, b.own) {
	case 0:
		return "the same name, but another owner"
	case 1, 2:
		return "almost the same name, but another owner"
	}
	return ""
}

// differing returns the number of different letters in two names, or a large number if the names
// are not similar. Short names may not differ; longer ones may differ in one or two letters. Common
// words such as mcp do not count toward the length.
func differing(a, b string) int {
	a, b = strings.TrimPrefix(strings.ToLower(a), "io.github."), strings.TrimPrefix(strings.ToLower(b), "io.github.")
	x, y := plainName(a), plainName(b)
	most := 2
	switch shorter := min(len(core(x)), len(core(y))); {
	case shorter < minName:
		most = 0
	case shorter <= shortName:
		most = 1
	}
	if d := min(letters(x, y, most), letters(core(x), core(y), most)); d <= most && (most > 0 || x == y) {
		return d
	}
	return maxCompared
}

var lookalikes = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("-", "", "_", "", ".", "", "0", "o", "1", "l", "rn", "m", "vv", "w")
})

// plainName replaces similar looking characters in a name by the same character.
func plainName(name string) string { return lookalikes().Replace(name) }

// core removes common words from a name that do not distinguish it.
func core(plain string) string {
	return strings.ReplaceAll(strings.ReplaceAll(plain, "server", ""), "mcp", "")
}

// letters returns the number of letters that are different, missing, added, or swapped with the
// next one. It returns most+1 if there are more than most.
func letters(a, b string, most int) int {
	if len(a) > len(b)+most || len(b) > len(a)+most {
		return most + 1
	}
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	next := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		least := next[0]
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
			least = min(least, next[j+1])
		}
		if least > most {
			return most + 1
		}
		before, row, next = row, next, before
	}
	return min(row[len(b)], most+1)
}
