"""What gridsum costs on the machine it finds: `measures` makes records, `tables` shows them."""
