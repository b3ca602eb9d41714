// Package toolsearch finds the few tools among many that a request needs. It imports no MCP
// package: a tool consists of a name, texts and a JSON Schema. So any program that passes tools to
// a language model can use it.
//
// # Ranking
//
// An Index holds the tools of all servers. Search ranks them for a query by BM25F. The weight of a
// match depends on its field: name and title, server, description, parameters, or queries
// remembered for the tool. Rare words count more than common ones. Each further occurrence of a
// word counts less, and words in a long text count less.
//
// Identifiers are split at camelCase, snake_case and digits, and words are stemmed (Snowball
// English). Chinese, Japanese and Korean text is split into characters. Words like "the" are
// dropped. Synonyms from a small table count a little. Quoted parts of a query and numbers count
// half, as they are mostly values for arguments. A tool gets a small, limited bonus if other tools
// of its server match as well. Tools with equal scores are ordered by ID, so that the same query
// always has the same result.
//
// Remember adds a user's query to the tool that the user's model called after it. Remembered
// queries are the strongest evidence. They need no model, and their number is limited. Results.Weak
// marks a weak match. It is a hint for the model; weak hits are still returned.
//
// # Visibility
//
// Query.Allow filters tools before anything is counted: the number of tools, frequencies, lengths
// and server scores depend only on the allowed tools. The result is exactly the result of an index
// without the other tools, except for the limits on remembered queries in Memory. All users of an
// Index share its remembered queries. Give each tenant a separate Index, or do not call Remember.
//
// # Context
//
// Overview returns a text for the model's context instead of all definitions: how to search, and
// the list of servers. Rendered fits the definitions of the hits into a budget. Tokens are
// estimated as characters divided by four.
//
// # Embeddings
//
// With Options.Embedder, a search also finds tools that have the same meaning in other words.
// Index.Embed computes the vectors of new tools. A search embeds its query and combines both
// scores. If the Embedder fails or is slow, the search waits for a limited time, ranks by words
// alone, and sets Results.Note to the reason. Package toolsearch/embeddings is an Embedder for
// endpoints in the form of OpenAI.
//
// # Limits
//
// Texts come from untrusted servers. The indexed part of a tool is limited in bytes, words and
// nesting. Invalid UTF-8 is skipped, and an invalid schema is ignored. An Index is safe for
// concurrent use and starts no goroutine. The first search after a change of tools builds a table
// of all tools, which later searches share. Remembered queries are added to that table. Searches do
// not wait while the texts of a server are read.
package toolsearch
