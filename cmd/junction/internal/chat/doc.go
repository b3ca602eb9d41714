// Package chat has the commands chat and conversations. In a chat, a model uses tools. The command
// conversations manages stored conversations.
package chat
