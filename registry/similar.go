package registry

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
)

const (
	// maxLikenesses is how many better known names one name is said to look like.
	maxLikenesses = 5
	// maxCompared bounds names that are compared, in bytes.
	maxCompared = 200
	// maxNamesakes is from how many owners on a name behind the slash is anybody's, such as "mcp-server".
	maxNamesakes = 4
	// shortName is the length up to which one letter only may differ, and minName that below which none may.
	shortName, minName = 9, 5
)

// A Likeness is a better known name that another one can be taken for.
type Likeness struct {
	Name string // of the better known one
	Why  string // such as "one letter differs", for people
}

// known are packages of servers that many people use, by the names in their registries: a look at them needs no mirror.
func known() []string {
	return []string{
		"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory",
		"@modelcontextprotocol/server-sequential-thinking", "@modelcontextprotocol/inspector", "@playwright/mcp", "@wonderwhy-er/desktop-commander",
		"@upstash/context7-mcp", "@notionhq/notion-mcp-server", "@supabase/mcp-server-supabase", "@azure/mcp", "@sentry/mcp-server",
		"@stripe/mcp", "@heroku/mcp-server", "@cloudflare/mcp-server-cloudflare", "@browserbasehq/mcp-server-browserbase", "@brave/brave-search-mcp-server",
		"chrome-devtools-mcp", "figma-developer-mcp", "firecrawl-mcp", "tavily-mcp", "exa-mcp-server", "mcp-remote", "mcp-proxy", "mongodb-mcp-server",
		"mysql-mcp-server", "puppeteer-mcp-server", "mcp-server-fetch", "mcp-server-git", "mcp-server-time", "mcp-server-sqlite", "mcp-server-motherduck",
		"mcp-server-kubernetes", "mcp-atlassian", "fastmcp", "postgres-mcp", "markitdown-mcp", "duckduckgo-mcp-server", "awslabs.core-mcp-server",
		"mcp/fetch", "mcp/git", "mcp/filesystem", "ghcr.io/github/github-mcp-server",
	}
}

// famous is how well known those are.
const famous = 1_000

// A fame is a name, and how well known it is.
type fame struct {
	name, owner, own string // owner and own are the parts before and behind the last slash
	first            int64  // when it was first published
	worth            int    // versions and signs of care
}

func fameOf(name string, first int64, worth int) fame {
	f := fame{name: name, own: name, first: first, worth: worth}
	if slash := strings.LastIndexByte(name, '/'); slash >= 0 {
		f.owner, f.own = name[:slash], name[slash+1:]
	}
	return f
}

// Similar are the better known servers, and packages of servers, that a name looks like, and is not: by a letter or two, or as
// the same name in another owner's namespace. The name is that of a server, or of a package as its registry has it. Better known is
// what was there earlier and has more versions and signs of care; of a name that the mirror does not have, all that it has.
func (m *Mirror) Similar(ctx context.Context, name string) ([]Likeness, error) {
	if len(name) > maxCompared {
		return nil, nil
	}
	all, err := m.fames(ctx)
	if err != nil {
		return nil, err
	}
	return similar(name, all), nil
}

// SimilarKnown is [Mirror.Similar] without a mirror: it knows the packages only that many people use.
func SimilarKnown(name string) []Likeness {
	if len(name) > maxCompared {
		return nil
	}
	return similar(name, famousOnes())
}

func famousOnes() []fame {
	var all []fame
	for _, name := range known() {
		all = append(all, fameOf(name, 1, famous))
	}
	return all
}

// fames are all names that there are.
func (m *Mirror) fames(ctx context.Context) ([]fame, error) {
	all := famousOnes()
	err := m.file.Read(ctx, "compare names", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT name, first, versions + care FROM listed WHERE source IN (`+m.sources()+`)
			UNION ALL SELECT DISTINCT p.identifier, l.first, l.versions + l.care FROM packages p JOIN listed l ON l.id = p.listed WHERE l.source IN (`+m.sources()+`)`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			var first int64
			var worth int
			if err := rows.Scan(&name, &first, &worth); err != nil {
				return err
			}
			if len(name) <= maxCompared {
				all = append(all, fameOf(name, first, worth))
			}
		}
		return rows.Err()
	})
	return all, err
}

func similar(name string, all []fame) []Likeness {
	own := fameOf(name, 0, 0)
	known, owners := false, map[string]bool{}
	for _, f := range all {
		if f.name == name {
			if !known || f.worth > own.worth {
				own = f
			}
			known = true
		}
		if strings.EqualFold(f.own, own.own) {
			owners[f.owner] = true
		}
	}
	var found []fame
	why := map[string]string{}
	for _, f := range all {
		better := !known || f.worth > own.worth && f.first < own.first
		if !better || f.name == name || why[f.name] != "" {
			continue
		}
		if reason := looksLike(own, f, len(owners)); reason != "" {
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

// looksLike says why a name can be taken for another one; "" if it cannot. What one owner calls alike is theirs, and names without an owner are
// all of one: there any letter counts.
func looksLike(a, b fame, namesakes int) string {
	if a.owner != "" && strings.EqualFold(a.owner, b.owner) {
		return ""
	}
	switch differing(a.name, b.name) {
	case 0:
		return "only case or punctuation differs"
	case 1:
		return "one letter differs"
	case 2:
		return "two letters differ"
	}
	if a.owner == "" || b.owner == "" || namesakes >= maxNamesakes || len(a.own) < minName {
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

// differing is how many letters differ between two names; far more than two where they are not alike. Of short names none may, and of
// longer ones one or two, without the words that every other name has.
func differing(a, b string) int {
	x, y := core(a), core(b)
	most := 2
	switch shorter := min(len(x), len(y)); {
	case shorter < minName:
		x, y, most = plainName(a), plainName(b), 0
	case shorter <= shortName:
		most = 1
	}
	if d := letters(x, y, most); d <= most {
		return d
	}
	return maxCompared
}

// plainName is a name as an eye takes it in a hurry.
func plainName(name string) string {
	return strings.NewReplacer("-", "", "_", "", ".", "", "0", "o", "1", "l", "rn", "m", "vv", "w").Replace(strings.ToLower(name))
}

// core is that without what tells no names apart.
func core(name string) string {
	name = strings.ToLower(name)
	for _, word := range []string{"io.github.", "com.github.", "server", "mcp"} {
		name = strings.ReplaceAll(name, word, "")
	}
	return plainName(name)
}

// letters is how many letters of b are other, missing, too many or swapped with the next; most+1 where it is more than most.
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
