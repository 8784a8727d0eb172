# sources of policies
