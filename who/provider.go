package who

// A Provider is where people log in by OpenID Connect.
type Provider struct{}

// ProviderName returns what the provider is called; "" if there is none.
func (g *Gate) ProviderName() string { return "" }
