"""What gridsum costs on the machine it finds: `measures` and `memory` make records, `tables` shows them."""
