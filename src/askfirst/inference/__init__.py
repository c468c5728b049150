"""What is said with the decision methods: the three-way rule, non-inferiority, several tests at once."""
