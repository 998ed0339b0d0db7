print(f"{{uuid}}")
