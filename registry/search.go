package registry

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxQuery is the largest size of a query in bytes, and maxQueryWords the largest number of its
	// words.
	maxQuery      = 1_000
	maxQueryWords = 16
	// maxCandidates is the largest number of servers to rank. If more match, only those with the
	// best matches in the index are ranked.
	maxCandidates = 2_000
	// defaultFound is the default number of servers that a search returns.
	defaultFound = 20
)

// ErrNoWords reports that a query has no words.
var ErrNoWords = errors.New("there is no word to search for")

// A Search is a query for servers.
type Search struct {
	Words string // words in any language; servers with all of them come before servers with some
	Limit int    // 0 means 20
}

// Found is the result of a search.
type Found struct {
	Entries []Entry // best matches first, without Versions
	Total   int     // number of matches including those beyond Limit, at most 2,000
}

// Search finds servers in the mirror by words. It ranks servers by where the words occur, by
// status, by the time of the last change, and by signs of maintenance.
func (m *Mirror) Search(ctx context.Context, s Search) (*Found, error) {
	if len(s.Words) > maxQuery {
		s.Words = strings.ToValidUTF8(s.Words[:maxQuery], "")
	}
	words := strings.Fields(fold(s.Words))
	words = words[:min(len(words), maxQueryWords)]
	if len(words) == 0 {
		return nil, ErrNoWords
	}
	found := &Found{}
	limit := cmp.Or(s.Limit, defaultFound)
	err := m.file.Read(ctx, "search", func(tx *sql.Tx) error {
		hits, err := m.candidates(ctx, tx, words, " AND ")
		if err == nil && len(words) > 1 && len(hits) < limit {
			hits, err = m.candidates(ctx, tx, words, " OR ")
		}
		if err != nil {
			return err
		}
		hits = m.rank(hits, words, time.Now())
		found.Total = len(hits)
		for _, h := range hits[:min(len(hits), limit)] {
			e, err := h.row.entry(ctx, tx)
			if err != nil {
				return err
			}
			e.Source, e.Also, e.IsLatest = h.source, h.also, true
			found.Entries = append(found.Entries, e)
		}
		return nil
	})
	return found, err
}

// A hit is a server that has at least one of the words.
type hit struct {
	name           string
	place          int // index of its source
	source         string
	also           []string
	texts          [4]string // name, title, description and other words; folded
	row            row
	versions, care int
	score          float64
}

// candidates returns the servers that have all of the words, or at least one of them; how is the
// SQL operator. Words of one or two characters are not in the index of trigrams, so they are
// searched in each text. They match only as whole words if their script has spaces between words.
func (m *Mirror) candidates(ctx context.Context, tx *sql.Tx, words []string, how string) ([]hit, error) {
	var match, like []string
	var arguments []any
	for _, word := range words {
		if utf8.RuneCountInString(word) >= 3 {
			match = append(match, `"`+word+`"`) // a folded word has only letters and digits
			continue
		}
		pattern := "% " + word + " %"
		if isJoined(word) {
			pattern = "%" + word + "%"
		}
		var columns []string
		for _, column := range []string{"t.name", "t.title", "t.description", "t.rest"} {
			columns = append(columns, column+" LIKE ?")
			arguments = append(arguments, pattern)
		}
		like = append(like, "("+strings.Join(columns, " OR ")+")")
	}
	var conditions []string
	if len(match) > 0 {
		conditions = append(conditions, "t.rowid IN (SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts, 8, 4, 2, 1) LIMIT ?)")
		arguments = slices.Insert(arguments, 0, any(strings.Join(match, how)), any(maxCandidates))
	}
	conditions = append(conditions, like...)
	arguments = append(arguments, maxCandidates)
	var hits []hit
	err := each(ctx, tx, func(scan func(...any) error) error {
		var h hit
		var source int64
		if err := scan(&h.name, &source, &h.versions, &h.care, &h.texts[0], &h.texts[1], &h.texts[2], &h.texts[3],
			&h.row.id, &h.row.version, &h.row.status, &h.row.message, &h.row.latest, &h.row.published, &h.row.updated); err != nil {
			return err
		}
		h.place = slices.Index(m.ids, source)
		h.source = m.options.Sources[h.place].Name
		hits = append(hits, h)
		return nil
	}, `SELECT l.name, l.source, l.versions, l.care, t.name, t.title, t.description, t.rest,
		v.id, v.version, v.status, v.message, v.latest, v.published, v.updated
		FROM texts t JOIN listed l ON l.id = t.rowid JOIN versions v ON v.id = l.version
		WHERE l.source IN (`+m.sources()+`) AND (`+strings.Join(conditions, how)+`) ORDER BY l.care DESC, l.id LIMIT ?`, arguments...)
	return hits, err
}

// rank sorts hits, the best first. If several sources have a server, only the hit of the first
// source remains.
func (m *Mirror) rank(hits []hit, words []string, now time.Time) []hit {
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.place, b.place)) })
	var single []hit
	for _, h := range hits {
		if last := len(single) - 1; last >= 0 && single[last].name == h.name {
			single[last].also = append(single[last].also, h.source)
			continue
		}
		h.score = h.worth(words, now)
		single = append(single, h)
	}
	slices.SortStableFunc(single, func(a, b hit) int {
		return cmp.Or(cmp.Compare(order(a.row.status), order(b.row.status)), -cmp.Compare(a.score, b.score), cmp.Compare(a.place, b.place), cmp.Compare(a.name, b.name))
	})
	return single
}

// order returns the position of a status: active, then deprecated, then deleted.
func order(s Status) int { return slices.Index([]Status{Active, Deprecated, Deleted}, s) }

// worth returns a score of how well a server matches the words.
func (h *hit) worth(words []string, now time.Time) float64 {
	// Points for a word in the name, title, description and other words: as a whole word, at the
	// beginning of a word, and inside of a word.
	weights := [4][3]float64{{8, 6, 4}, {6, 5, 3}, {4, 3, 1.5}, {2, 1.5, 1}}
	score, has := 0.0, 0
	_, own, _ := strings.Cut(h.name, "/")
	own = fold(own)
	for _, word := range words {
		best := 0.0
		for i, text := range h.texts {
			w := weights[i]
			switch {
			case strings.Contains(text, " "+word+" "):
				best = max(best, w[0])
			case strings.Contains(text, " "+word), isJoined(word) && strings.Contains(text, word):
				best = max(best, w[1])
			case strings.Contains(text, word):
				best = max(best, w[2])
			}
		}
		if strings.Contains(" "+own+" ", " "+word+" ") {
			best += 2
		}
		if best > 0 {
			has++
		}
		score += best
	}
	score /= float64(len(words))
	score *= float64(has*has) / float64(len(words)*len(words)) // a match of one word of two counts far less than half
	if phrase := strings.Join(words, " "); own == phrase {
		score += 4
	} else if len(words) > 1 && strings.Contains(strings.Join(h.texts[:3], "|"), phrase) {
		score += 2
	}
	score += float64(h.care) * 0.4
	switch age := now.Sub(timeOf(h.row.updated)); {
	case h.row.updated == 0:
	case age < 90*24*time.Hour:
		score += 1.5
	case age < 365*24*time.Hour:
		score += 0.75
	case age > 2*365*24*time.Hour:
		score -= 0.75
	}
	return score
}
