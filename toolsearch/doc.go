// Package toolsearch finds the few tools that a request needs among many. It
// imports nothing of MCP: a tool is a name, a text and a JSON Schema, so anyone
// who hands tools to a language model can use it.
//
// # What it does
//
// An Index holds the tools of all servers. Search ranks them for a query by
// BM25F: a match counts by the field it is in (name and title, server, description,
// parameters, queries remembered for the tool), rare words count more than
// common ones, and a word said often or in a long text counts less and less.
// Identifiers are split at camelCase, snake_case and digits, words are stemmed
// (Snowball English), Chinese, Japanese and Korean text is taken character by
// character, words like "the" are left out, and a small table of synonyms adds
// a little. What a query has in quotes, and its numbers, are mostly values for
// arguments and count half. A tool of a server whose other tools fit as well gets a small, capped bonus.
// Equal scores are ordered by id, so that the same question has the same answer.
//
// Remember adds what a person has asked to the tool that then answered; it is
// the strongest evidence there is, needs no model, and is bounded. Results say
// whether the match is Weak; that is a hint for the model, and hides nothing.
//
// # Who may see what
//
// Query.Allow filters before anything is counted: number of tools, frequencies,
// lengths and server scores are those of the allowed tools alone. A search
// under Allow answers exactly as an index that never held the other tools,
// except that remembered queries may be in Memory for them. What is remembered
// is shared by all who search an Index: give each tenant an Index of its own, or do not call Remember.
//
// # Context
//
// Overview is the text to load always, instead of all definitions: how to
// search, and what servers there are. Rendered fits the definitions of the hits into a budget.
// Tokens are estimated as characters divided by four.
//
// # Embeddings
//
// With Options.Embedder, tools that say the same in other words are found
// too. Index.Embed computes the vectors of new tools; a search embeds its
// query and mixes both scores. An Embedder that fails or is slow costs a
// bounded wait, then the search is lexical and Results.Note says so. Package
// toolsearch/embeddings speaks to an OpenAI-shaped endpoint.
//
// # Limits
//
// Texts come from servers that are not trusted. What is indexed of one tool
// is bounded in bytes, words and nesting, invalid UTF-8 is skipped, and a schema
// that is not JSON counts as none. An Index is safe for concurrent use and starts no
// goroutine. The first search after a change of tools makes a table of them all, which the later ones share; what is
// remembered is added to it. No search waits while the texts of a server are read.
package toolsearch
