// Package skills serves and reads Agent Skills over MCP (extension io.modelcontextprotocol/skills,
// SEP-2640). These are folders with a SKILL.md that describes to a model how to do certain work,
// and the files that it refers to.
//
// A server adds a tree of such folders with [Add]. Every file becomes a resource. skills/list,
// skills/get and resources/directory/read are served from memory, with the digest and size of each
// file.
//
// A client gets the entries with [List] or [Get], which do not read files. It then reads single
// files with [Skill.Read] when they are needed. A file that differs from its entry is an error,
// [ErrMismatch], and is not returned. The digest comes from the same server as the file. It shows
// that both belong together, not that either can be trusted.
package skills
