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
	// maxLikenesses limits the better known names that are reported for one name.
	maxLikenesses = 5
	// maxCompared limits the names to compare, in bytes.
	maxCompared = 200
	// maxNamesakes is the number of owners from which a name after the slash counts as generic,
	// such as "mcp-server".
	maxNamesakes = 4
	// shortName is the length up to which only one letter may differ. Below minName none may
	// differ.
	shortName = 9
	minName   = 5
)

// A Likeness is a better known name that is easily confused with another one.
type Likeness struct {
	Name string // the better known name
	Why  string // reason for users, such as "one letter differs"
}

// known returns widely used packages of servers, or between a client and a server, so that their
// names can be compared without a mirror. They are the packages of npm with 100,000 downloads in a
// month, and those of PyPI among its 10,000 most downloaded, both counted in autumn 2026. It
// excludes names with fewer than minName letters of their own, which are not compared, and
// duckduckgo-mcp, which was renamed. It includes GitHub's image, and Brave's own package, because
// its name is that of one of those.
func known() []string {
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

// famous is the fame of these packages.
const famous = 1_000

// A fame is a name with a measure of how well known it is.
type fame struct {
	name, owner, own string // owner and own are the parts before and after the last slash
	first            int64  // time of the first publication
	worth            int    // versions and signs of maintenance
}

func fameOf(name string, first int64, worth int) fame {
	f := fame{name: name, own: name, first: first, worth: worth}
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 {
		f.owner, f.own = name[:slash], name[slash+1:]
	}
	return f
}

// Similar returns the better known servers with similar names: they differ by a letter or two, or
// are the same in another owner's namespace. A server is better known if it was published earlier
// and has more versions and signs of maintenance. If the mirror does not have the name, all servers
// are better known.
func (m *Mirror) Similar(ctx context.Context, name string) ([]Likeness, error) {
	all, err := m.fames(ctx, `SELECT name, first, versions + care FROM listed WHERE source IN (`+m.sources()+`)`)
	return similar(name, all), err
}

// SimilarPackage is like [Mirror.Similar] for a package, by its name in its own registry of a type,
// such as npm. It compares the name with packages of servers in the mirror, and with widely used
// ones.
func (m *Mirror) SimilarPackage(ctx context.Context, registryType, identifier string) ([]Likeness, error) {
	all, err := m.fames(ctx, `SELECT p.identifier, min(l.first), max(l.versions + l.care) FROM packages p JOIN listed l ON l.id = p.listed
		WHERE l.source IN (`+m.sources()+`) GROUP BY p.identifier`)
	return similarPackage(registryType, identifier, append(all, famousOnes()...)), err
}

// SimilarKnown is like [Mirror.SimilarPackage], but without a mirror.
func SimilarKnown(registryType, identifier string) []Likeness {
	return similarPackage(registryType, identifier, famousOnes())
}

// similarPackage compares names by the rules of a registry, in which several spellings may be the
// same name.
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

func famousOnes() []fame {
	var all []fame
	for _, name := range known() {
		all = append(all, fameOf(name, 1, famous))
	}
	return all
}

// fames returns the names of a query's rows.
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
	rivals := map[string]int{} // fame of the names with the same part after the slash, by owner
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
		namesakes := 0 // owners with the name for something about as well known
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

// looksLike returns the reason that a name can be confused with another one, or "". Similar names
// of the same owner are fine. All names without an owner share one namespace, so there any letter
// counts.
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
		return "the same name of another owner"
	case 1, 2:
		return "almost the same name of another owner"
	}
	return ""
}

// differing returns the number of differing letters between two names, or a large number if the
// names are not similar. Short names may not differ, and longer ones in one or two letters. Common
// words such as mcp do not make a name longer.
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

// plainName returns a name with similar looking characters replaced by the same one.
func plainName(name string) string { return lookalikes().Replace(name) }

// core returns a name without words that do not distinguish names.
func core(plain string) string {
	return strings.ReplaceAll(strings.ReplaceAll(plain, "server", ""), "mcp", "")
}

// letters returns the number of letters of b that are different, missing, additional or swapped
// with the next. It returns most+1 if there are more than most.
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
