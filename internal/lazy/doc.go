// Package lazy delays the making of tables that most runs of a program do not need.
package lazy
