// Package skills serves and reads Agent Skills over MCP (extension io.modelcontextprotocol/skills,
// SEP-2640). A skill is a folder with a SKILL.md, which describes to a model how to do certain
// work, and the files that SKILL.md refers to.
//
// A server adds a tree of such folders with [Add]. Every file becomes a resource. The server
// responds to skills/list, skills/get and resources/directory/read from memory, with the digest and
// size of each file.
//
// A client gets the entries with [List] or [Get], which do not read files. It then reads single
// files with [Skill.Read] when they are needed. If a file differs from its entry, Read returns
// [ErrMismatch] and not the file. The digest comes from the same server as the file. It shows that
// the file belongs to the entry, not that the server can be trusted.
package skills
