// Package toolsearch finds the few tools that a request needs among many. It imports no MCP
// package: a tool is a name, a text and a JSON Schema. So every program that passes tools to a
// language model can use it.
//
// # Ranking
//
// An Index holds the tools of all servers. Search ranks them for a query by BM25F. A match counts
// by its field: name and title, server, description, parameters, or queries remembered for the
// tool. Rare words count more than common ones. Repeated words, and words in a long text, count
// less and less.
//
// Identifiers are split at camelCase, snake_case and digits, and words are stemmed (Snowball
// English). Chinese, Japanese and Korean text is split into characters. Words like "the" are
// dropped, and a small table of synonyms adds a little. Quoted parts of a query, and numbers, are
// mostly values for arguments and count half. A tool gets a small, limited bonus if other tools of
// its server match as well. Equal scores are ordered by id, so that the same query always has the
// same result.
//
// Remember adds a user's query to the tool that was then used. Such queries are the strongest
// evidence, need no model, and are limited in number. Results.Weak marks a weak match; it is a hint
// for the model, and hides no hits.
//
// # Visibility
//
// Query.Allow filters before anything is counted: the number of tools, frequencies, lengths and
// server scores are those of the allowed tools alone. The result is exactly that of an index that
// never held the other tools, except that Memory may hold queries for them. All users of an Index
// share its remembered queries. Give each tenant a separate Index, or do not call Remember.
//
// # Context
//
// Overview returns the text to load always, instead of all definitions: how to search, and the list
// of servers. Rendered fits the definitions of the hits into a budget. Tokens are estimated as
// characters divided by four.
//
// # Embeddings
//
// With Options.Embedder, a search also finds tools with the same meaning in other words.
// Index.Embed computes the vectors of new tools; a search embeds its query and mixes both scores.
// An Embedder that fails or is slow costs a limited wait. Then the search is lexical, and
// Results.Note has the reason. Package toolsearch/embeddings calls an endpoint in the form of
// OpenAI.
//
// # Limits
//
// Texts come from untrusted servers. The indexed part of a tool is limited in bytes, words and
// nesting. Invalid UTF-8 is skipped, and an invalid schema counts as none. An Index is safe for
// concurrent use and starts no goroutine. The first search after a change of tools builds a table
// of all tools, which later searches share; remembered queries are added to it. No search waits
// while the texts of a server are read.
package toolsearch
