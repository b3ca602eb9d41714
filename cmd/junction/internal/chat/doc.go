// Package chat has the command chat, with which a model uses tools, and the command conversations,
// which manages stored conversations.
package chat
