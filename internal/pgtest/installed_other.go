//go:build !unix

package pgtest

import (
	"context"
	"errors"
)

func startInstalled(context.Context, options) (*Server, error) {
	return nil, errors.New("needs a Unix system")
}
