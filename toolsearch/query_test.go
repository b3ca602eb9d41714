package toolsearch

import (
	"context"
	"slices"
	"strings"
	"testing"
)

func TestQuotationsAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                              {"", ""},
		"none":                                 {"create a note", ""},
		"one":                                  {`a note "Travel plans" please`, `"Travel plans"`},
		"all of it":                            {`"read a file"`, `"read a file"`},
		"several kinds":                        {"`a b`, “c”, «d», 「い」, „e“, ‘f’", "`a b`|“c”|«d»|「い」|„e“|‘f’"},
		"one in another is a part of it":       {`say "it's 'so' here"`, `"it's 'so' here"`},
		"in apostrophes":                       {"the file 'my report.pdf' from 'home'", "'my report.pdf'|'home'"},
		"one right behind another":             {"from 'a b' 'c d','e' of John's", "'a b'|'c d'|'e'"},
		"with an apostrophe within":            {"called 'Anna's list', today", "'Anna's list'"},
		"apostrophes of words are none":        {"what's in the users' folder of Anna's", ""},
		"a mark that is not closed is none":    {`a 5" screen and 'more`, ""},
		"one behind it is found all the same":  {"a 5\" screen `x`", "`x`"},
		"an empty one":                         {`set "" there`, `""`},
		"one next to bytes that are no text":   {"\xff\"a\"\xff", `"a"`},
		"a closing mark does not begin one":    {"a ” b ” c", ""},
		"an apostrophe behind another mark is": {"('a b')", "'a b'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(quotations.FindAllString(c.text, -1), "|"); got != c.want {
				t.Errorf("%q has the quotations %s, want %s", c.text, got, c.want)
			}
		})
	}
}

// pens returns a catalogue with two tools that a query can mean, and one that matches only the quoted
// words of the query.
func pens() *Index {
	x := catalogue(50)
	x.SetServer("pens", "", []Tool{
		{Name: "create_note", Description: "Creates a note with a title."},
		{Name: "remove_playlist", Description: "Removes a playlist of songs."},
		{Name: "convert_7z", Description: "Packs what is there 7 times."},
	})
	return x
}

func TestQuotedWordsWeighLess(t *testing.T) {
	t.Parallel()
	x := pens()
	for query, want := range map[string]string{
		`a note, the title "remove playlist"`: "pens__create_note",
		`a note, the title remove playlist`:   "pens__remove_playlist",
		`"remove playlist"`:                   "pens__remove_playlist",
		`note 7`:                              "pens__create_note",
		`convert 7`:                           "pens__convert_7z",
		`playlist "create note" note`:         "pens__create_note", // words that also occur outside of the quotation count in full
	} {
		if r := x.Search(context.Background(), Query{Text: query}); len(r.Hits) == 0 || r.Hits[0].ID != want {
			t.Errorf("%q: got %+v, want %s", query, r.Hits, want)
		}
	}
}

func TestAQueryThatIsAllInQuotesIsLikeOneWithout(t *testing.T) {
	t.Parallel()
	x := pens()
	with, without := x.Search(context.Background(), Query{Text: `"create a note"`}), x.Search(context.Background(), Query{Text: "create a note"})
	if !slices.Equal(with.Hits, without.Hits) || with.Weak || without.Weak {
		t.Errorf("got %+v, want %+v", with, without)
	}
}
