package web

// routeProvider serves the way over an OpenID provider.
func (a *api) routeProvider(gatedMux) {}
